# fmt: off
# ruff: noqa
"""The commands, with their options as keywords.

Generated from the command line: `UPDATE=1 cargo test -p onnxport --lib signatures` writes it.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from onnxport._commands import Command, Result

_Path: TypeAlias = str | os.PathLike[str]

_Free: TypeAlias = str | int | float | Sequence[Any] | Mapping[str, Any]
"""What the option reads from a text, or the same as data."""

class Bench(Command):
    def __call__(  # type: ignore[override]
        self,
        folder: _Path,
        *,
        beside: _Path | None = None,
        length: int | Sequence[int] | None = None,
        runs: int | None = None,
        threads: int | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Measure tokens per second of a language model in a folder, or compare two folders.

        Args:
            folder: A folder with the `model.onnx` of a decoder, as `llm` writes it.
            beside: Another folder to compare with; the models are run alternately.
            length: The tokens of a prompt, and before the token that is measured; can be
                repeated [default: 64 and 512].
            runs: How many times to run each measurement, after a warm-up run.
            threads: How many threads the runtime may use within an operator; chosen by the
                runtime by default.
            executor: The plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Bisect(Command):
    def __call__(  # type: ignore[override]
        self,
        model: _Path,
        *,
        against: _Path | None = None,
        record: bool | None = None,
        passes: bool | None = None,
        comparer: str | None = None,
        modules: bool | None = None,
        once: bool | None = None,
        all: bool | None = None,
        opset: int | None = None,
        optimize: Literal["0", "1", "2", "target", 0, 1, 2] | None = None,
        target: _Path | None = None,
        input: str | Sequence[str] | None = None,
        inputs: _Path | Sequence[_Path] | None = None,
        seed: int | None = None,
        dim: str | Sequence[str] | None = None,
        round_memory: str | int | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        report: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Find the first node or optimizer step whose results diverge.

        Args:
            model: The ONNX model, or with --passes also an exported program; with
                --modules, an exported program.
            against: The reference: a program with recorded intermediate values beside it,
                the recording itself, another ONNX model, or the plugin of another runtime.
            record: Run the program with PyTorch in the active Python and compare with its
                values instead of recorded ones. PyTorch may execute code from the file: use it
                only for files that you would load yourself.
            passes: Find the first rule, pass or legalization that changes the results.
            comparer: The plugin that compares values; it must also run the model. Values
                stay on its device, such as the GPU with cuda-parity, and only the findings are
                copied back.
            modules: Find the modules that do not convert or whose results diverge: the
                Python package `onnxport` converts each module separately and runs it on its
                inputs from the recorded call. PyTorch may execute code from the file: use it
                only for files that you would load yourself.
            once: Test only one of several modules that differ in nothing but their weights.
            all: Compare every value, including those after the first wrong node, and list
                them with --json; with --modules, compare all modules.
            opset: The ONNX opset for --passes and --modules.
            optimize: The optimizer level for --passes: 0, 1, 2 or target; the default is
                that of convert.
            target: The runtime to target: onnxruntime, onnxruntime-cpu, onnxruntime-cuda,
                onnxruntime-directml, openvino, tensorrt, qnn, coreml, litert, onnx (any
                conforming runtime), or a file that describes a runtime. A target that you name
                must be able to run the model, and the model may use operators that only this
                target has. Without one, the target is onnxruntime, with standard operators
                only, and unsupported nodes are only a note.
            input: A value for an input: a .npy file, or a weight file with a single tensor
                or one of this name; can be repeated.
            inputs: A file with values for inputs by name: .npz, .safetensors or another
                weight file.
            seed: Seed for random values.
            dim: The size of a dynamic dimension of random inputs, by name or by input and
                axis, such as batch=2 or x:0=2.
            round_memory: Memory budget for the values held at once; larger models are
                compared in several rounds.
            executor: The plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            report: Also write a report to this file: .txt, .md, .json, .html, or .sarif for
                problems only; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Check(Command):
    def __call__(  # type: ignore[override]
        self,
        program: _Path,
        *,
        opset: int | None = None,
        decompose: Literal["none", "core", "all"] | None = None,
        decompositions: _Path | Sequence[_Path] | None = None,
        allow: str | Sequence[str] | None = None,
        warn: str | Sequence[str] | None = None,
        deny: str | Sequence[str] | None = None,
        warnings_as_errors: bool | None = None,
        profile: _Path | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        suggest: Literal["all", "python", "rust", "modules"] | bool | None = None,
        report: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """List everything in a program that onnxport cannot convert.

        Args:
            program: The exported program.
            opset: The opset to check for.
            decompose: Which calls to decompose into simpler ones.
            decompositions: A file of decompositions, which take precedence over those of
                plugins; can be repeated.
            allow: Hide warnings and notes with this code; can be repeated.
            warn: Show notes with this code as warnings, and never treat its warnings as
                errors; can be repeated.
            deny: Treat warnings and notes with this code as errors, before the model is
                written; can be repeated.
            warnings_as_errors: Treat all warnings as errors, unless --allow or --warn names
                them.
            profile: Write a trace with the time of each stage, plugin, rule and pass and
                the memory use to this file, for Perfetto or `chrome://tracing`.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            suggest: Print code to paste: lowerings for missing operators, replacements for
                modules.
            report: Also write a report to this file: .txt, .md, .json, .html, or .sarif for
                problems only; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Convert(Command):
    def __call__(  # type: ignore[override]
        self,
        program: _Path,
        *,
        output: _Path | None = None,
        emit: Literal["program", "normalised", "ir"] | None = None,
        explain_partition: bool | None = None,
        calibrate: _Path | Sequence[_Path] | None = None,
        calibrate_method: _Free | None = None,
        keep_biases: bool | None = None,
        sensitivity: bool | None = None,
        min_sqnr: float | None = None,
        input_names: _Free | None = None,
        output_names: _Free | None = None,
        dim: _Free | Sequence[_Free] | None = None,
        require_dynamic: str | Sequence[str] | None = None,
        opset: int | None = None,
        ir_version: int | None = None,
        validate: bool | None = None,
        freeze_all: bool | None = None,
        naming: Literal["torch", "huggingface", "genai", "flat"] | None = None,
        functions: _Free | None = None,
        state: Literal["io", "refuse", "drop"] | None = None,
        emit_guards: bool | None = None,
        target: _Path | None = None,
        no_verify: bool | None = None,
        verify: bool | None = None,
        require_verified: bool | None = None,
        keep_failed: bool | None = None,
        reference: Literal["torch", "recorded", "evaluator", "none"] | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        decompose: Literal["none", "core", "all"] | None = None,
        decompositions: _Path | Sequence[_Path] | None = None,
        optimize: Literal["0", "1", "2", "target", 0, 1, 2] | bool | None = None,
        no_optimize: bool | None = None,
        explain_rule: str | None = None,
        skip_rule: str | Sequence[str] | None = None,
        stop_after: int | None = None,
        dump_matches: _Path | None = None,
        max_sweeps: int | None = None,
        max_growth: int | None = None,
        inline: Literal["all", "small", "none"] | None = None,
        outline: int | None = None,
        reorder: bool | None = None,
        fold_budget: str | int | None = None,
        dtype: Literal["f32", "f16", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"] | None = None,
        keep_dtype: str | Sequence[str] | None = None,
        dtype_overflow: Literal["refuse", "keep", "allow"] | None = None,
        quantize: str | None = None,
        quantize_form: Literal["dequantize", "matmulnbits"] | None = None,
        accuracy_level: int | None = None,
        quantize_only: str | Sequence[str] | None = None,
        quantize_skip: str | Sequence[str] | None = None,
        transform: str | Sequence[str] | None = None,
        backend: str | Sequence[str] | None = None,
        blobs: Literal["auto", "embed", "file"] | None = None,
        backend_cache: _Path | None = None,
        backend_cache_budget: str | int | None = None,
        metadata: Literal["full", "names", "none"] | None = None,
        source_root: _Path | None = None,
        external_data: Literal["auto", "inline", "external", "reference"] | None = None,
        shard_size: str | int | None = None,
        manifest: bool | None = None,
        max_memory: str | int | None = None,
        no_check_weights: bool | None = None,
        check_weights: bool | None = None,
        no_initializers: bool | None = None,
        initializers: bool | None = None,
        initializers_as_inputs: bool | None = None,
        plan: Literal["files", "tensors"] | bool | None = None,
        weights: _Path | Sequence[_Path] | None = None,
        weights_plugin: str | Sequence[str] | None = None,
        weights_map: _Path | None = None,
        weights_prefix: str | None = None,
        weights_key: str | None = None,
        weights_cast: bool | None = None,
        weightless: bool | None = None,
        allow: str | Sequence[str] | None = None,
        warn: str | Sequence[str] | None = None,
        deny: str | Sequence[str] | None = None,
        warnings_as_errors: bool | None = None,
        profile: _Path | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        report: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Convert a program and verify the result.

        Args:
            program: The exported program, as saved by torch.export.save.
            output: The model to write.
            emit: Print the graph as text instead of writing a model.
            explain_partition: Show the regions that backends would claim, and why they
                leave the others, without compiling or writing anything.
            calibrate: Quantize weights and activations to 8 bits by the rules of the
                target, with scales from the samples in this file: .npz, .safetensors or another
                weight file, with a tensor for each input whose first axis counts the samples,
                or tensors such as 0/x and 1/x for the runs. Needs --target; can be repeated.
            calibrate_method: How the ranges of activations are chosen: min-max, percentile,
                percentile=NUMBER, entropy or mse [default: min-max].
            keep_biases: Do not correct biases by the mean error of rounded weights.
            sensitivity: Also measure the error of the outputs with each single layer
                quantized.
            min_sqnr: The smallest signal-to-noise ratio of an output, in decibels, with
                which the quantized model is written [default: 10].
            input_names: Names for all inputs in order, or new names for some: pixels,mask
                or x=pixels.
            output_names: Names for all outputs in order, or new names for some.
            dim: A name for a dynamic dimension of an input, such as x:0=batch, or a fixed
                size, such as x:0=8.
            require_dynamic: Fail if this axis of an input, such as x:0, has a fixed size or
                fewer sizes than were declared; can be repeated.
            opset: The ONNX opset to use.
            ir_version: The IR version to write; the lowest that the opset and the model
                need if it is absent.
            validate: Check the graph against the ONNX specification and the types that the
                program states.
            freeze_all: Give every dynamic dimension of the inputs the size that it has in
                the example inputs; sizes of --dim take precedence.
            naming: How to name the inputs and outputs of caches, and of a decoder after an
                encoder.
            functions: Write modules as local functions: auto for modules that repeat, none,
                or those of these classes.
            state: How to treat buffers, parameters and inputs that the program writes to.
            emit_guards: Add a Boolean output that tells at run time whether the sizes of
                the inputs satisfy the ranges and guards of the program.
            target: The runtime to target: onnxruntime, onnxruntime-cpu, onnxruntime-cuda,
                onnxruntime-directml, openvino, tensorrt, qnn, coreml, litert, onnx (any
                conforming runtime), or a file that describes a runtime. A target that you name
                must be able to run the model, and the model may use operators that only this
                target has. Without one, the target is onnxruntime, with standard operators
                only, and unsupported nodes are only a note.
            no_verify: Do not run the model.
            verify: False is `no_verify=True`.
            require_verified: Fail if the model cannot be run or if there are no expected
                values.
            keep_failed: Keep a model that fails, as OUTPUT with `.failed` in its name,
                instead of discarding it.
            reference: Where expected values come from; by default, the recorded values, or
                else PyTorch if the active Python has it. Also read from `ONNXPORT_REFERENCE`.
            executor: The plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            decompose: Which calls to decompose into simpler ones.
            decompositions: A file of decompositions, which take precedence over those of
                plugins; can be repeated.
            optimize: How far the optimizer may go: 0 changes nothing, 1 keeps results
                bit-identical, 2 stays within the error bounds that rules state, target also
                uses operators that only the target has; 2 by default, and target where --target
                names one.
            no_optimize: Run no rules and no passes, like --optimize 0.
            explain_rule: Explain for each node where a rule or pass was tried whether it
                was applied, and why not.
            skip_rule: Skip this rule or pass; can be repeated.
            stop_after: Stop after this many patches, to find the one at fault.
            dump_matches: Write an ONNX model before and after each applied patch to this
                folder.
            max_sweeps: The most sweeps that the rules make over the graph.
            max_growth: The most nodes that the rules may add on balance; by default four
                for each node, and at least 10,000.
            inline: Inline local functions: all, none, or small ones of up to eight nodes.
            outline: Outline repeated parts of at least this many nodes into local
                functions.
            reorder: Reorder nodes to lower peak memory, for runtimes that execute them in
                file order.
            fold_budget: How many bytes constant folding may add per constant; 0 disables
                it.
            dtype: Store floating-point parameters and buffers in this narrower type, with a
                cast to the type that the model computes in. Tensors with fewer than two axes,
                such as biases and scales of norms, keep their type.
            keep_dtype: Weights that keep their type, such as head.*; can be repeated.
            dtype_overflow: How to handle a weight with values out of range for that type.
            quantize: Quantize the weights of matrix products: int4 or int8, optionally
                followed by a colon and block=N or block=channel, symmetric or asymmetric, and
                by=PLUGIN/NAME for a plugin that chooses scales and codes, such as
                int4:block=32,symmetric.
            quantize_form: How the graph represents a quantized weight [default: dequantize;
                matmulnbits for a language model on ONNX Runtime].
            accuracy_level: The type in which `MatMulNBits` computes with its other operand:
                1 f32, 2 f16, 3 bf16, 4 8-bit integers, which round by up to 1/254 of a block's
                largest magnitude; 0 lets the runtime choose [default: 4].
            quantize_only: Quantize only these matrices, whichever operator reads them; can
                be repeated.
            quantize_skip: Weights to leave unquantized; can be repeated.
            transform: Apply a plugin's transform to weights before anything else, such as
                mylib/prune:conv*; can be repeated.
            backend: A backend to compile the parts of the model that it supports, or a
                plugin for all of its backends; can be repeated, in order of preference.
            blobs: Where to store the blobs that backends compile.
            backend_cache: Keep compiled regions in this folder, and use those of earlier
                runs; several runs can share it.
            backend_cache_budget: The most bytes in the folder; the least recently used
                regions are removed.
            metadata: How much the model records about the program that it comes from.
            source_root: The folder to which file names in Python stack traces are relative,
                with `--metadata full`.
            external_data: Where to store the weights.
            shard_size: Split external data into files of at most this size, such as 2GB; a
                larger tensor gets its own file.
            manifest: Also write OUTPUT.sha256, a list of hashes that `sha256sum --check`
                reads.
            max_memory: Limit on anonymous memory while writing, such as 256MiB.
            no_check_weights: Do not check weights against the checksums of their archives.
            check_weights: False is `no_check_weights=True`.
            no_initializers: Omit the data of the program's parameters, buffers and
                constants.
            initializers: False is `no_initializers=True`.
            initializers_as_inputs: Declare the program's parameters, buffers and constants
                as inputs after the others.
            plan: Print the files, disk space and memory that writing would take, without
                writing. With =tensors, also list the source, transforms and destination of
                every tensor.
            weights: A weight file or a folder of shards: .safetensors, an index of shards,
                a torch.save checkpoint, another .pt2; can be repeated.
            weights_plugin: The id of a plugin that provides weights; can be repeated.
            weights_map: A TOML or JSON file that maps names, with the tables `rename` and
                `prefix`.
            weights_prefix: A prefix of names in the files that the program's names lack,
                such as model.
            weights_key: The checkpoint entry that holds the weights, with dots between
                levels.
            weights_cast: Round floating-point values of other types to the program's type.
            weightless: Write a model without its weights; `onnxport weights bind` adds them
                later.
            allow: Hide warnings and notes with this code; can be repeated.
            warn: Show notes with this code as warnings, and never treat its warnings as
                errors; can be repeated.
            deny: Treat warnings and notes with this code as errors, before the model is
                written; can be repeated.
            warnings_as_errors: Treat all warnings as errors, unless --allow or --warn names
                them.
            profile: Write a trace with the time of each stage, plugin, rule and pass and
                the memory use to this file, for Perfetto or `chrome://tracing`.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            report: Also write a report to this file: .txt, .md, .json, .html, or .sarif for
                problems only; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Diff(Command):
    def __call__(  # type: ignore[override]
        self,
        a: _Path,
        b: _Path,
        *,
        values: bool | None = None,
        exit_code: bool | None = None,
        input: str | Sequence[str] | None = None,
        inputs: _Path | Sequence[_Path] | None = None,
        seed: int | None = None,
        dim: str | Sequence[str] | None = None,
        round_memory: str | int | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Compare two ONNX models node by node.

        Args:
            a: The first ONNX model.
            b: The second ONNX model.
            values: Also run both models and compare their values node by node.
            exit_code: Exit with code 4 if the models differ.
            input: A value for an input: a .npy file, or a weight file with a single tensor
                or one of this name; can be repeated.
            inputs: A file with values for inputs by name: .npz, .safetensors or another
                weight file.
            seed: Seed for random values.
            dim: The size of a dynamic dimension of random inputs, by name or by input and
                axis, such as batch=2 or x:0=2.
            round_memory: Memory budget for the values held at once; larger models are
                compared in several rounds.
            executor: The plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Draw(Command):
    def __call__(  # type: ignore[override]
        self,
        files: _Path | Sequence[_Path] | None = None,
        *,
        output: _Path | Sequence[_Path],
        depth: _Free | None = None,
        module: str | Sequence[str] | None = None,
        only: str | None = None,
        rule: str | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Draw the graph of a program, a model or a rule, folded by module.

        Args:
            files: A .pt2 or .onnx file, or two .onnx files to draw side by side.
            output: The picture to write, .svg or .html; can be repeated.
            depth: How many levels of modules to expand: at 1, top-level modules are
                collapsed. By default, as many as stay readable.
            module: Also expand modules whose path matches: `*` matches any characters
                between dots, `**` any characters; can be repeated.
            only: Draw only the module with this path.
            rule: Draw an optimizer rule before and after, on the example that `onnxport
                rules NAME` shows.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Inspect(Command):
    def __call__(  # type: ignore[override]
        self,
        file: _Path,
        other: _Path | None = None,
        *,
        all: bool | None = None,
        weights: bool | None = None,
        weights_key: str | None = None,
        manifest: bool | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Show the contents of a .pt2, .onnx or weight file.

        Args:
            file: A .pt2 or .onnx file, or weights: .safetensors, an index of shards, a
                torch.save checkpoint, or a folder of these.
            other: A second file to compare with: shows the differences, and with `--all`
                everything.
            all: Show every operator, guard and tensor.
            weights: Show every tensor: its source, its view of it, its size, and the
                tensors that share storage. This is the default for weight files.
            weights_key: The checkpoint entry that holds the weights, with dots between
                levels.
            manifest: Check the files of a model against FILE.sha256, written by `convert
                --manifest`.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Legal(Command):
    def __call__(  # type: ignore[override]
        self,
        model: _Path,
        *,
        opset: int | None = None,
        target: _Path | None = None,
        probe: bool | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        decompose: Literal["none", "core", "all"] | None = None,
        decompositions: _Path | Sequence[_Path] | None = None,
        allow: str | Sequence[str] | None = None,
        warn: str | Sequence[str] | None = None,
        deny: str | Sequence[str] | None = None,
        warnings_as_errors: bool | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        report: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Tell how a target takes each node of a program or a model.

        Args:
            model: A .pt2 or .onnx file.
            opset: The opset to convert a program to.
            target: The runtime to target: onnxruntime, onnxruntime-cpu, onnxruntime-cuda,
                onnxruntime-directml, openvino, tensorrt, qnn, coreml, litert, onnx (any
                conforming runtime), or a file that describes a runtime. A target that you name
                must be able to run the model, and the model may use operators that only this
                target has. Without one, the target is onnxruntime, with standard operators
                only, and unsupported nodes are only a note.
            probe: Ask the runtime, which must be installed, about each node that the table
                of the target does not decide. It is for targets that a plugin runs: openvino,
                onnxruntime-cpu, and tables with a line `executor PLUGIN`.
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            decompose: Which calls to decompose into simpler ones.
            decompositions: A file of decompositions, which take precedence over those of
                plugins; can be repeated.
            allow: Hide warnings and notes with this code; can be repeated.
            warn: Show notes with this code as warnings, and never treat its warnings as
                errors; can be repeated.
            deny: Treat warnings and notes with this code as errors, before the model is
                written; can be repeated.
            warnings_as_errors: Treat all warnings as errors, unless --allow or --warn names
                them.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            report: Also write a report to this file: .txt, .md, .json, .html, or .sarif for
                problems only; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Llm(Command):
    def __call__(  # type: ignore[override]
        self,
        checkpoint: _Path,
        *,
        output: _Path,
        target: Literal["genai", "onnxruntime", "onnx"] | None = None,
        provider: Literal["cpu", "cuda", "webgpu", "dml"] | None = None,
        code: _Path | None = None,
        context: int | None = None,
        dtype: Literal["f32", "f16"] | None = None,
        quantize: str | None = None,
        quantize_form: Literal["dequantize", "matmulnbits"] | None = None,
        accuracy_level: int | None = None,
        quantize_only: str | Sequence[str] | None = None,
        quantize_skip: str | Sequence[str] | None = None,
        pooling: Literal["mean", "cls", "lasttoken", "max"] | None = None,
        adapter: str | Sequence[str] | None = None,
        merge_adapter: _Path | Sequence[_Path] | None = None,
        last_logits: bool | None = None,
        no_compare: bool | None = None,
        compare: bool | None = None,
        no_verify: bool | None = None,
        verify: bool | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Convert a checkpoint of a language model into a folder for a server.

        Args:
            checkpoint: A folder of transformers: `config.json`, the tokenizer and the
                weights.
            output: The folder to create.
            target: The runtime to target: genai also writes `genai_config.json`, onnx uses
                standard operators only.
            provider: The execution provider to target: all but cpu keep caches in buffers
                of a fixed length, which attention writes to.
            code: A Python file to run first: it registers the model with transformers, or
                describes it.
            context: The largest number of tokens, prompt included, for `genai_config.json`
                [default: that of the checkpoint].
            dtype: The element type of weights and caches [default: f16 for a checkpoint in
                f16, otherwise f32].
            quantize: Quantize the weights of matrix products: int4 or int8, optionally
                followed by a colon and block=N or block=channel, symmetric or asymmetric, and
                by=PLUGIN/NAME for a plugin that chooses scales and codes, such as
                int4:block=32,symmetric.
            quantize_form: How the graph represents a quantized weight [default: dequantize;
                matmulnbits for a language model on ONNX Runtime].
            accuracy_level: The type in which `MatMulNBits` computes with its other operand:
                1 f32, 2 f16, 3 bf16, 4 8-bit integers, which round by up to 1/254 of a block's
                largest magnitude; 0 lets the runtime choose [default: 4].
            quantize_only: Quantize only these matrices, whichever operator reads them; can
                be repeated.
            quantize_skip: Weights to leave unquantized; can be repeated.
            pooling: The pooling of an embedding model, if the checkpoint has no
                modules.json of sentence-transformers.
            adapter: A low-rank adapter of peft to swap at run time, and the name of its
                file; can be repeated.
            merge_adapter: A low-rank adapter of peft to add to the weights; can be
                repeated.
            last_logits: Compute the logits of the last token only.
            no_compare: Do not run the checkpoint in PyTorch to compare values with the
                model.
            compare: False is `no_compare=True`.
            no_verify: Do not run the model.
            verify: False is `no_verify=True`.
            executor: The plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Ops(Command):
    def __call__(  # type: ignore[override]
        self,
        pattern: str | None = None,
        *,
        missing: bool | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """List the supported operators.

        Args:
            pattern: Show only operators whose name contains this; * stands for any text.
            missing: List the operators that have a schema but no lowering, each with the
                reason.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Package(Command):
    def __call__(  # type: ignore[override]
        self,
        programs: _Free | Sequence[_Free],
        *,
        output: _Path,
        input_names: str | Sequence[str] | None = None,
        output_names: str | Sequence[str] | None = None,
        dim: str | Sequence[str] | None = None,
        buckets: str | Sequence[str] | None = None,
        dispatch: bool | None = None,
        opset: int | None = None,
        ir_version: int | None = None,
        validate: bool | None = None,
        freeze_all: bool | None = None,
        naming: Literal["torch", "huggingface", "genai", "flat"] | None = None,
        functions: _Free | None = None,
        state: Literal["io", "refuse", "drop"] | None = None,
        emit_guards: bool | None = None,
        target: _Path | None = None,
        no_verify: bool | None = None,
        verify: bool | None = None,
        require_verified: bool | None = None,
        keep_failed: bool | None = None,
        reference: Literal["torch", "recorded", "evaluator", "none"] | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        decompose: Literal["none", "core", "all"] | None = None,
        decompositions: _Path | Sequence[_Path] | None = None,
        optimize: Literal["0", "1", "2", "target", 0, 1, 2] | bool | None = None,
        no_optimize: bool | None = None,
        explain_rule: str | None = None,
        skip_rule: str | Sequence[str] | None = None,
        stop_after: int | None = None,
        dump_matches: _Path | None = None,
        max_sweeps: int | None = None,
        max_growth: int | None = None,
        inline: Literal["all", "small", "none"] | None = None,
        outline: int | None = None,
        reorder: bool | None = None,
        fold_budget: str | int | None = None,
        dtype: Literal["f32", "f16", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"] | None = None,
        keep_dtype: str | Sequence[str] | None = None,
        dtype_overflow: Literal["refuse", "keep", "allow"] | None = None,
        quantize: str | None = None,
        quantize_form: Literal["dequantize", "matmulnbits"] | None = None,
        accuracy_level: int | None = None,
        quantize_only: str | Sequence[str] | None = None,
        quantize_skip: str | Sequence[str] | None = None,
        transform: str | Sequence[str] | None = None,
        backend: str | Sequence[str] | None = None,
        blobs: Literal["auto", "embed", "file"] | None = None,
        backend_cache: _Path | None = None,
        backend_cache_budget: str | int | None = None,
        metadata: Literal["full", "names", "none"] | None = None,
        source_root: _Path | None = None,
        shard_size: str | int | None = None,
        manifest: bool | None = None,
        max_memory: str | int | None = None,
        no_check_weights: bool | None = None,
        check_weights: bool | None = None,
        plan: Literal["files", "tensors"] | bool | None = None,
        weights: _Path | Sequence[_Path] | None = None,
        weights_plugin: str | Sequence[str] | None = None,
        weights_map: _Path | None = None,
        weights_prefix: str | None = None,
        weights_key: str | None = None,
        weights_cast: bool | None = None,
        profile: _Path | None = None,
        allow: str | Sequence[str] | None = None,
        warn: str | Sequence[str] | None = None,
        deny: str | Sequence[str] | None = None,
        warnings_as_errors: bool | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        report: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Convert several programs into one folder with shared weights.

        Args:
            programs: The exported programs, optionally with model names, such as
                encoder=enc.pt2; the default is the file's name.
            output: The folder to create.
            input_names: Names for all inputs of a model in order, or new names for some:
                encoder/pixels,mask or encoder/x=pixels.
            output_names: Names for the outputs of a model, in the same form.
            dim: A name for a dynamic dimension of an input, such as encoder/x:0=batch, or a
                fixed size.
            buckets: Make a variant of each model for each of these sizes of a dynamic
                dimension, such as batch=1,8,32, and list them in variants.json; can be repeated
                for all combinations.
            dispatch: Also join the variants of each model into NAME.onnx, which runs the
                variant for the sizes of its inputs and refuses others.
            opset: The ONNX opset to use.
            ir_version: The IR version to write; the lowest that the opset and the model
                need if it is absent.
            validate: Check the graph against the ONNX specification and the types that the
                program states.
            freeze_all: Give every dynamic dimension of the inputs the size that it has in
                the example inputs; sizes of --dim take precedence.
            naming: How to name the inputs and outputs of caches, and of a decoder after an
                encoder.
            functions: Write modules as local functions: auto for modules that repeat, none,
                or those of these classes.
            state: How to treat buffers, parameters and inputs that the program writes to.
            emit_guards: Add a Boolean output that tells at run time whether the sizes of
                the inputs satisfy the ranges and guards of the program.
            target: The runtime to target: onnxruntime, onnxruntime-cpu, onnxruntime-cuda,
                onnxruntime-directml, openvino, tensorrt, qnn, coreml, litert, onnx (any
                conforming runtime), or a file that describes a runtime. A target that you name
                must be able to run the model, and the model may use operators that only this
                target has. Without one, the target is onnxruntime, with standard operators
                only, and unsupported nodes are only a note.
            no_verify: Do not run the model.
            verify: False is `no_verify=True`.
            require_verified: Fail if the model cannot be run or if there are no expected
                values.
            keep_failed: Keep a model that fails, as OUTPUT with `.failed` in its name,
                instead of discarding it.
            reference: Where expected values come from; by default, the recorded values, or
                else PyTorch if the active Python has it. Also read from `ONNXPORT_REFERENCE`.
            executor: The plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            decompose: Which calls to decompose into simpler ones.
            decompositions: A file of decompositions, which take precedence over those of
                plugins; can be repeated.
            optimize: How far the optimizer may go: 0 changes nothing, 1 keeps results
                bit-identical, 2 stays within the error bounds that rules state, target also
                uses operators that only the target has; 2 by default, and target where --target
                names one.
            no_optimize: Run no rules and no passes, like --optimize 0.
            explain_rule: Explain for each node where a rule or pass was tried whether it
                was applied, and why not.
            skip_rule: Skip this rule or pass; can be repeated.
            stop_after: Stop after this many patches, to find the one at fault.
            dump_matches: Write an ONNX model before and after each applied patch to this
                folder.
            max_sweeps: The most sweeps that the rules make over the graph.
            max_growth: The most nodes that the rules may add on balance; by default four
                for each node, and at least 10,000.
            inline: Inline local functions: all, none, or small ones of up to eight nodes.
            outline: Outline repeated parts of at least this many nodes into local
                functions.
            reorder: Reorder nodes to lower peak memory, for runtimes that execute them in
                file order.
            fold_budget: How many bytes constant folding may add per constant; 0 disables
                it.
            dtype: Store floating-point parameters and buffers in this narrower type, with a
                cast to the type that the model computes in. Tensors with fewer than two axes,
                such as biases and scales of norms, keep their type.
            keep_dtype: Weights that keep their type, such as head.*; can be repeated.
            dtype_overflow: How to handle a weight with values out of range for that type.
            quantize: Quantize the weights of matrix products: int4 or int8, optionally
                followed by a colon and block=N or block=channel, symmetric or asymmetric, and
                by=PLUGIN/NAME for a plugin that chooses scales and codes, such as
                int4:block=32,symmetric.
            quantize_form: How the graph represents a quantized weight [default: dequantize;
                matmulnbits for a language model on ONNX Runtime].
            accuracy_level: The type in which `MatMulNBits` computes with its other operand:
                1 f32, 2 f16, 3 bf16, 4 8-bit integers, which round by up to 1/254 of a block's
                largest magnitude; 0 lets the runtime choose [default: 4].
            quantize_only: Quantize only these matrices, whichever operator reads them; can
                be repeated.
            quantize_skip: Weights to leave unquantized; can be repeated.
            transform: Apply a plugin's transform to weights before anything else, such as
                mylib/prune:conv*; can be repeated.
            backend: A backend to compile the parts of the model that it supports, or a
                plugin for all of its backends; can be repeated, in order of preference.
            blobs: Where to store the blobs that backends compile.
            backend_cache: Keep compiled regions in this folder, and use those of earlier
                runs; several runs can share it.
            backend_cache_budget: The most bytes in the folder; the least recently used
                regions are removed.
            metadata: How much the model records about the program that it comes from.
            source_root: The folder to which file names in Python stack traces are relative,
                with `--metadata full`.
            shard_size: Split external data into files of at most this size, such as 2GB; a
                larger tensor gets its own file.
            manifest: Also write OUTPUT.sha256, a list of hashes that `sha256sum --check`
                reads.
            max_memory: Limit on anonymous memory while writing, such as 256MiB.
            no_check_weights: Do not check weights against the checksums of their archives.
            check_weights: False is `no_check_weights=True`.
            plan: Print the files, disk space and memory that writing would take, without
                writing. With =tensors, also list the source, transforms and destination of
                every tensor.
            weights: A weight file or a folder of shards: .safetensors, an index of shards,
                a torch.save checkpoint, another .pt2; can be repeated.
            weights_plugin: The id of a plugin that provides weights; can be repeated.
            weights_map: A TOML or JSON file that maps names, with the tables `rename` and
                `prefix`.
            weights_prefix: A prefix of names in the files that the program's names lack,
                such as model.
            weights_key: The checkpoint entry that holds the weights, with dots between
                levels.
            weights_cast: Round floating-point values of other types to the program's type.
            profile: Write a trace with the time of each stage, plugin, rule and pass and
                the memory use to this file, for Perfetto or `chrome://tracing`.
            allow: Hide warnings and notes with this code; can be repeated.
            warn: Show notes with this code as warnings, and never treat its warnings as
                errors; can be repeated.
            deny: Treat warnings and notes with this code as errors, before the model is
                written; can be repeated.
            warnings_as_errors: Treat all warnings as errors, unless --allow or --warn names
                them.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            report: Also write a report to this file: .txt, .md, .json, .html, or .sarif for
                problems only; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Partition(Command):
    def __call__(  # type: ignore[override]
        self,
        model: _Path,
        *,
        backend: str | Sequence[str],
        require_share: _Free | None = None,
        max_regions: int | None = None,
        picture: _Path | Sequence[_Path] | None = None,
        opset: int | None = None,
        optimize: Literal["0", "1", "2", "target", 0, 1, 2] | None = None,
        target: _Path | None = None,
        decompose: Literal["none", "core", "all"] | None = None,
        decompositions: _Path | Sequence[_Path] | None = None,
        allow: str | Sequence[str] | None = None,
        warn: str | Sequence[str] | None = None,
        deny: str | Sequence[str] | None = None,
        warnings_as_errors: bool | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        report: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Show which parts of a program or a model backends would compile.

        Args:
            model: A .pt2 or .onnx file.
            backend: A backend that is offered the nodes which earlier ones leave, or a
                plugin for all of its backends; can be repeated, in order of preference.
            require_share: Fail if backends take a smaller share of the nodes: a percentage
                such as 90%, or a number from 0 to 1.
            max_regions: Fail if there are more regions than this.
            picture: Draw the model with its regions in colours, as .svg or .html; can be
                repeated.
            opset: The opset to convert a program to.
            optimize: How far the optimizer may go before, as for convert and optimize; 0
                leaves a model as it is.
            target: The runtime to target: onnxruntime, onnxruntime-cpu, onnxruntime-cuda,
                onnxruntime-directml, openvino, tensorrt, qnn, coreml, litert, onnx (any
                conforming runtime), or a file that describes a runtime. A target that you name
                must be able to run the model, and the model may use operators that only this
                target has. Without one, the target is onnxruntime, with standard operators
                only, and unsupported nodes are only a note.
            decompose: Which calls to decompose into simpler ones.
            decompositions: A file of decompositions, which take precedence over those of
                plugins; can be repeated.
            allow: Hide warnings and notes with this code; can be repeated.
            warn: Show notes with this code as warnings, and never treat its warnings as
                errors; can be repeated.
            deny: Treat warnings and notes with this code as errors, before the model is
                written; can be repeated.
            warnings_as_errors: Treat all warnings as errors, unless --allow or --warn names
                them.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            report: Also write a report to this file: .txt, .md, .json, .html, or .sarif for
                problems only; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class PluginCheck(Command):
    def __call__(  # type: ignore[override]
        self,
        library: _Path,
        *,
        write_manifest: bool | None = None,
        timeout: int | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Check a plugin library, with each step in a separate process.

        Args:
            library: The library.
            write_manifest: Write the library's manifest beside it.
            timeout: Time limit for one step, in seconds.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class PluginInfo(Command):
    def __call__(  # type: ignore[override]
        self,
        library: _Path,
        *,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Load a plugin library and describe it.

        Args:
            library: The library.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class PluginList(Command):
    def __call__(  # type: ignore[override]
        self,
        *,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """List the available plugins.

        Args:
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class PluginNew(Command):
    def __call__(  # type: ignore[override]
        self,
        name: str,
        *,
        path: _Path | None = None,
        kind: Literal["lowerings", "rules", "backend", "weights", "executor"] | None = None,
        sdk: _Path | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Create a plugin project.

        Args:
            name: The name of the plugin, of its crate and of its operators' namespace.
            path: The folder to create, or an empty one [default: NAME].
            kind: The kind of plugin.
            sdk: The plugin SDK: the folder `plugin-sdk` of onnxport's sources, or the URL
                of their git repository [default: a copy in the project of the sources that this
                program was built with; crates.io if it was built from there].
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Profile(Command):
    def __call__(  # type: ignore[override]
        self,
        model: _Path,
        *,
        against: _Path | None = None,
        input: str | Sequence[str] | None = None,
        inputs: _Path | Sequence[_Path] | None = None,
        seed: int | None = None,
        dim: str | Sequence[str] | None = None,
        runs: int | None = None,
        threads: int | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        by: Literal["operator", "module", "line", "node"] | None = None,
        all: bool | None = None,
        report: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Show where a model spends its time in ONNX Runtime, or compare two models.

        Args:
            model: The ONNX model, or a profile saved as .json.
            against: Another model or saved profile to compare with; models are run
                alternately.
            input: A value for an input: a .npy file, or a weight file with a single tensor
                or one of this name; can be repeated.
            inputs: A file with values for inputs by name: .npz, .safetensors or another
                weight file.
            seed: Seed for random inputs: floats between -1 and 1, integers and booleans 0
                or 1.
            dim: The size of a dynamic dimension of random inputs, by name or by input and
                axis, such as batch=2 or x:0=2.
            runs: How many times to run each model, after two warm-up runs.
            threads: How many threads the runtime may use within an operator; chosen by the
                runtime by default.
            executor: The plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            by: Show only this breakdown.
            all: Show every row.
            report: Also write a report to this file: .txt, .md, .json, .html, or .sarif for
                problems only; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Report(Command):
    def __call__(  # type: ignore[override]
        self,
        model: _Path,
        *,
        output: _Path | Sequence[_Path] | None = None,
        check: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Describe an ONNX model as a page or as data.

        Args:
            model: The ONNX model.
            output: The report to write, .md, .json or .html, instead of Markdown on
                standard output; can be repeated.
            check: Check that an existing report still describes the model; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Rules(Command):
    def __call__(  # type: ignore[override]
        self,
        name: str | None = None,
        *,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """List the optimizer's rules and passes, or show one in detail.

        Args:
            name: A rule or pass to show in detail; without one, list all.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Run(Command):
    def __call__(  # type: ignore[override]
        self,
        model: _Path,
        *,
        input: str | Sequence[str] | None = None,
        inputs: _Path | Sequence[_Path] | None = None,
        random: bool | None = None,
        seed: int | None = None,
        dim: str | Sequence[str] | None = None,
        output: _Path | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Run an ONNX model once and show or save its outputs.

        Args:
            model: The ONNX model.
            input: A value for an input: a .npy file, or a weight file with a single tensor
                or one of this name; can be repeated.
            inputs: A file with values for inputs by name: .npz, .safetensors or another
                weight file.
            random: Use random values for missing inputs: floats between -1 and 1, integers
                and booleans 0 or 1.
            seed: Seed for random values.
            dim: The size of a dynamic dimension of random inputs, by name or by input and
                axis, such as batch=2 or x:0=2.
            output: Write the outputs to this file, .safetensors.
            executor: The plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class Verify(Command):
    def __call__(  # type: ignore[override]
        self,
        model: _Path,
        *,
        against: _Path | None = None,
        inputs: _Path | Sequence[_Path] | None = None,
        draw: str | Sequence[str] | None = None,
        seed: int | None = None,
        max_memory: str | int | None = None,
        reference: Literal["torch", "recorded", "evaluator", "none"] | None = None,
        executor: str | Sequence[str] | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        tolerance: Literal["default", "auto"] | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        comparer: str | None = None,
        comparer_option: str | Sequence[str] | None = None,
        comparer_fallback: bool | None = None,
        taps: bool | None = None,
        profile: _Path | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
        report: _Path | Sequence[_Path] | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Run a model and compare its outputs with PyTorch's.

        Args:
            model: The ONNX model.
            against: The program that the model was converted from, or the expected values
                recorded beside it; without one, compare the executors with each other on random
                inputs.
            inputs: A file with the inputs of the calls to run, by input name: .npz, .json,
                .safetensors or another weight file. With several calls per file, prefix each
                name with that of its call, as in first/x; can be repeated.
            draw: How to generate the values of an input: normal(MEAN,DEVIATION),
                uniform(LOW,HIGH), integers(LOW,HIGH), ones, arange or mask; can be repeated.
                For other inputs, the recorded values and the operators that read them suggest a
                rule.
            seed: Generate a call with random values from this seed.
            max_memory: Memory budget for all values of the program in the largest generated
                call.
            reference: Where expected values come from; by default, the recorded values, or
                else PyTorch if the active Python has it. Also read from `ONNXPORT_REFERENCE`.
            executor: A plugin to run the model: ort for ONNX Runtime, openvino for
                OpenVINO, reference for onnxport's own exact but slow evaluator, or a loaded
                plugin; can be repeated [default: the first available].
            ort_library: The ONNX Runtime library; by default, onnxport searches
                ORT_DYLIB_PATH, the active Python's packages and system folders.
            executor_option: An option for the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; with several executors,
                prefix it, as in `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model, and compile regions for backends, in separate processes,
                so that a crash or hang is reported and ends nothing else.
            timeout: Time limit in seconds for loading the model and running all cases, for
                PyTorch to compute expected values (300 by default), and for compiling a region
                in a separate process.
            tolerance: How to choose tolerances for floating-point outputs: by element type,
                or by the numerical noise of the program, measured against float64.
            rtol: Override the relative tolerance for floating-point outputs.
            atol: Override the absolute tolerance for floating-point outputs.
            comparer: The plugin that compares outputs instead of onnxport. With --taps, a
                plugin that also runs the model compares intermediate values on its device, such
                as the GPU.
            comparer_option: An option for the comparer, such as `device=1` or
                `memory=BYTES` for cuda-parity; can be repeated.
            comparer_fallback: If the plugin cannot compare something, compare it without
                the plugin and warn instead of failing.
            taps: Also compare intermediate values with recorded ones, with another
                executor's, or with those of onnxport's own evaluator; a report shows the error
                along the graph.
            profile: Write a trace with the time of each stage, plugin, rule and pass and
                the memory use to this file, for Perfetto or `chrome://tracing`.
            plugin: A plugin library, or a folder of libraries with manifests; can be
                repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin to use for an operator that several plugins lower, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: A plugin option; can be repeated. `onnxport plugin info` lists
                them.
            project: An onnxport.toml whose plugins to load; without this option or
                --config, plugins in a file are ignored.
            plugin_allow: A list of libraries that may be loaded, as id = "SHA-256"; without
                it, every library that you name may be.
            on_plugin_panic: What to do after a plugin panics.
            report: Also write a report to this file: .txt, .md, .json, .html, or .sarif for
                problems only; can be repeated.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class WeightsBind(Command):
    def __call__(  # type: ignore[override]
        self,
        model: _Path,
        *,
        from_: _Path | Sequence[_Path],
        output: _Path | None = None,
        weights_map: _Path | None = None,
        weights_prefix: str | None = None,
        weights_key: str | None = None,
        weights_cast: bool | None = None,
        external_data: Literal["auto", "inline", "external", "reference"] | None = None,
        shard_size: str | int | None = None,
        manifest: bool | None = None,
        max_memory: str | int | None = None,
        no_check_weights: bool | None = None,
        check_weights: bool | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        sandbox: bool | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Bind weights to a model that was written without them.

        Args:
            model: A model written by `onnxport convert --weightless`.
            from_: A weight file or a folder of shards: .safetensors, an index of shards, a
                torch.save checkpoint, a .pt2; can be repeated.
            output: The model to write; by default, the input model is overwritten.
            weights_map: A TOML or JSON file that maps names, with the tables `rename` and
                `prefix`.
            weights_prefix: A prefix of names in the files that the program's names lack,
                such as model.
            weights_key: The checkpoint entry that holds the weights, with dots between
                levels.
            weights_cast: Round floating-point values of other types to the program's type.
            external_data: Where to store the weights.
            shard_size: Split external data into files of at most this size, such as 2GB; a
                larger tensor gets its own file.
            manifest: Also write OUTPUT.sha256, a list of hashes that `sha256sum --check`
                reads.
            max_memory: Limit on anonymous memory while writing, such as 256MiB.
            no_check_weights: Do not check weights against the checksums of their archives.
            check_weights: False is `no_check_weights=True`.
            json: Print one JSON object instead of text.
            quiet: Print only results and problems.
            verbose: Show notes from plugins as well as warnings; repeat it for debug
                messages.
            color: When to use colours.
            plugin_timeout: Time limit for one plugin call, in seconds; does not apply to
                running a model.
            sandbox: Confine the process: it reads its inputs, writes into the folders of
                its outputs, and has no network (Linux 6.2).
            config: Read options from this file instead of the nearest onnxport.toml in the
                working directory or its parents, up to the root of the repository. Also read
                from `ONNXPORT_CONFIG`.
            no_config: Do not read options from a file.
            preset: Also apply the file's [preset.NAME] tables, which override the others.
                Also read from `ONNXPORT_PRESET`.
            unset: Reset an option to its default, ignoring the file; can be repeated.
            print_config: Print the effective options and their origins instead of running
                the command.
        """

class ExplainOptions(TypedDict, total=False):
    opset: int | None
    """The opset to check the program for."""
    plugin: _Path | Sequence[_Path] | None
    """A plugin library, or a folder of libraries with manifests; can be repeated. Also read
    from ONNXPORT_PLUGIN_PATH."""
    use: str | Sequence[str] | None
    """The plugin to use for an operator that several plugins lower, such as
    aten.add.Tensor=mylib; can be repeated."""
    plugin_option: str | Sequence[str] | None
    """A plugin option; can be repeated. `onnxport plugin info` lists them."""
    project: _Path | None
    """An onnxport.toml whose plugins to load; without this option or --config, plugins in a
    file are ignored."""
    plugin_allow: _Path | None
    """A list of libraries that may be loaded, as id = "SHA-256"; without it, every library that
    you name may be."""
    on_plugin_panic: Literal["continue", "stop"] | None
    """What to do after a plugin panics."""
    json: bool | None
    """Print one JSON object instead of text."""
    quiet: bool | None
    """Print only results and problems."""
    verbose: int | None
    """Show notes from plugins as well as warnings; repeat it for debug messages."""
    color: Literal["auto", "always", "never"] | None
    """When to use colours."""
    plugin_timeout: str | float | None
    """Time limit for one plugin call, in seconds; does not apply to running a model."""
    sandbox: bool | None
    """Confine the process: it reads its inputs, writes into the folders of its outputs, and has
    no network (Linux 6.2)."""
    config: _Path | bool | None
    """Read options from this file instead of the nearest onnxport.toml in the working directory
    or its parents, up to the root of the repository. Also read from `ONNXPORT_CONFIG`."""
    no_config: bool | None
    """Do not read options from a file."""
    preset: str | None
    """Also apply the file's [preset.NAME] tables, which override the others. Also read from
    `ONNXPORT_PRESET`."""
    unset: str | Sequence[str] | None
    """Reset an option to its default, ignoring the file; can be repeated."""
    print_config: bool | None
    """Print the effective options and their origins instead of running the command."""

class OptimizeOptions(TypedDict, total=False):
    emit: bool | None
    """Print the graph as text instead of writing a model."""
    explain_partition: bool | None
    """Show the regions that backends would claim, and why they leave the others, without
    compiling or writing anything."""
    optimize: Literal["0", "1", "2", "target", 0, 1, 2] | bool | None
    """How far the optimizer may go: 0 changes nothing, 1 keeps results bit-identical, 2 stays
    within the error bounds that rules state, target also uses operators that only the target
    has; 2 by default, and target where --target names one."""
    no_optimize: bool | None
    """Run no rules and no passes, like --optimize 0."""
    explain_rule: str | None
    """Explain for each node where a rule or pass was tried whether it was applied, and why
    not."""
    skip_rule: str | Sequence[str] | None
    """Skip this rule or pass; can be repeated."""
    stop_after: int | None
    """Stop after this many patches, to find the one at fault."""
    dump_matches: _Path | None
    """Write an ONNX model before and after each applied patch to this folder."""
    max_sweeps: int | None
    """The most sweeps that the rules make over the graph."""
    max_growth: int | None
    """The most nodes that the rules may add on balance; by default four for each node, and at
    least 10,000."""
    inline: Literal["all", "small", "none"] | None
    """Inline local functions: all, none, or small ones of up to eight nodes."""
    outline: int | None
    """Outline repeated parts of at least this many nodes into local functions."""
    reorder: bool | None
    """Reorder nodes to lower peak memory, for runtimes that execute them in file order."""
    fold_budget: str | int | None
    """How many bytes constant folding may add per constant; 0 disables it."""
    target: _Path | None
    """The runtime to target: onnxruntime, onnxruntime-cpu, onnxruntime-cuda,
    onnxruntime-directml, openvino, tensorrt, qnn, coreml, litert, onnx (any conforming
    runtime), or a file that describes a runtime. A target that you name must be able to run the
    model, and the model may use operators that only this target has. Without one, the target is
    onnxruntime, with standard operators only, and unsupported nodes are only a note."""
    calibrate: _Path | Sequence[_Path] | None
    """Quantize weights and activations to 8 bits by the rules of the target, with scales from
    the samples in this file: .npz, .safetensors or another weight file, with a tensor for each
    input whose first axis counts the samples, or tensors such as 0/x and 1/x for the runs.
    Needs --target; can be repeated."""
    calibrate_method: _Free | None
    """How the ranges of activations are chosen: min-max, percentile, percentile=NUMBER, entropy
    or mse [default: min-max]."""
    keep_biases: bool | None
    """Do not correct biases by the mean error of rounded weights."""
    sensitivity: bool | None
    """Also measure the error of the outputs with each single layer quantized."""
    min_sqnr: float | None
    """The smallest signal-to-noise ratio of an output, in decibels, with which the quantized
    model is written [default: 10]."""
    backend: str | Sequence[str] | None
    """A backend to compile the parts of the model that it supports, or a plugin for all of its
    backends; can be repeated, in order of preference."""
    blobs: Literal["auto", "embed", "file"] | None
    """Where to store the blobs that backends compile."""
    backend_cache: _Path | None
    """Keep compiled regions in this folder, and use those of earlier runs; several runs can
    share it."""
    backend_cache_budget: str | int | None
    """The most bytes in the folder; the least recently used regions are removed."""
    external_data: Literal["auto", "inline", "external", "reference"] | None
    """Where to store the weights."""
    shard_size: str | int | None
    """Split external data into files of at most this size, such as 2GB; a larger tensor gets
    its own file."""
    manifest: bool | None
    """Also write OUTPUT.sha256, a list of hashes that `sha256sum --check` reads."""
    max_memory: str | int | None
    """Limit on anonymous memory while writing, such as 256MiB."""
    no_check_weights: bool | None
    """Do not check weights against the checksums of their archives."""
    check_weights: bool | None
    """False is `no_check_weights=True`."""
    verify: bool | None
    """Run the model before and after on the same inputs, and write it only if the results
    agree."""
    keep_failed: bool | None
    """Keep a model whose results differ, as OUTPUT with `.failed` in its name."""
    inputs: _Path | Sequence[_Path] | None
    """A file with input values, as for `onnxport verify`; random values otherwise. Can be
    repeated."""
    draw: str | Sequence[str] | None
    """How to generate the values of an input, as for `onnxport verify`; can be repeated."""
    seed: int | None
    """Seed for random values."""
    rtol: float | None
    """Override the relative tolerance for floating-point outputs."""
    atol: float | None
    """Override the absolute tolerance for floating-point outputs."""
    executor: str | None
    """The plugin to run the model: ort for ONNX Runtime, openvino for OpenVINO, reference for
    onnxport's own exact but slow evaluator, or a loaded plugin [default: the first
    available]."""
    ort_library: _Path | None
    """The ONNX Runtime library; by default, onnxport searches ORT_DYLIB_PATH, the active
    Python's packages and system folders."""
    executor_option: str | Sequence[str] | None
    """An option for the runtime, such as `custom_ops=PATH` for a library of custom operators,
    or `bytes=NUMBER`, `steps=NUMBER` and `seconds=NUMBER` for the budgets of the evaluator;
    with several executors, prefix it, as in `reference:bytes=NUMBER`; can be repeated."""
    isolate: bool | None
    """Run the model, and compile regions for backends, in separate processes, so that a crash
    or hang is reported and ends nothing else."""
    timeout: str | float | None
    """Time limit in seconds for loading the model and running all cases, for PyTorch to compute
    expected values (300 by default), and for compiling a region in a separate process."""
    profile: _Path | None
    """Write a trace with the time of each stage, plugin, rule and pass and the memory use to
    this file, for Perfetto or `chrome://tracing`."""
    plugin: _Path | Sequence[_Path] | None
    """A plugin library, or a folder of libraries with manifests; can be repeated. Also read
    from ONNXPORT_PLUGIN_PATH."""
    use: str | Sequence[str] | None
    """The plugin to use for an operator that several plugins lower, such as
    aten.add.Tensor=mylib; can be repeated."""
    plugin_option: str | Sequence[str] | None
    """A plugin option; can be repeated. `onnxport plugin info` lists them."""
    project: _Path | None
    """An onnxport.toml whose plugins to load; without this option or --config, plugins in a
    file are ignored."""
    plugin_allow: _Path | None
    """A list of libraries that may be loaded, as id = "SHA-256"; without it, every library that
    you name may be."""
    on_plugin_panic: Literal["continue", "stop"] | None
    """What to do after a plugin panics."""
    json: bool | None
    """Print one JSON object instead of text."""
    quiet: bool | None
    """Print only results and problems."""
    verbose: int | None
    """Show notes from plugins as well as warnings; repeat it for debug messages."""
    color: Literal["auto", "always", "never"] | None
    """When to use colours."""
    plugin_timeout: str | float | None
    """Time limit for one plugin call, in seconds; does not apply to running a model."""
    sandbox: bool | None
    """Confine the process: it reads its inputs, writes into the folders of its outputs, and has
    no network (Linux 6.2)."""
    config: _Path | bool | None
    """Read options from this file instead of the nearest onnxport.toml in the working directory
    or its parents, up to the root of the repository. Also read from `ONNXPORT_CONFIG`."""
    no_config: bool | None
    """Do not read options from a file."""
    preset: str | None
    """Also apply the file's [preset.NAME] tables, which override the others. Also read from
    `ONNXPORT_PRESET`."""
    unset: str | Sequence[str] | None
    """Reset an option to its default, ignoring the file; can be repeated."""
    print_config: bool | None
    """Print the effective options and their origins instead of running the command."""
