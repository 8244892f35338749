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
        report: _Path | Sequence[_Path] | None = None,
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
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Find the first node, or the first step of the optimizer, that computes something else.

        Args:
            model: The ONNX model; with --passes also an exported program, with --modules
                only such a program.
            against: What the model is held against: a program with recorded intermediate
                values beside it, such a recording, another ONNX model, or the plugin of another
                runtime.
            record: Have the PyTorch of the active Python run the program, and compare with
                what it computes, instead of with values that were recorded before. PyTorch may
                run code of the file: ask for it where you would load the file yourself.
            passes: Find the first rule, pass or form that changes what the model computes.
            comparer: The plugin that compares values, which has to run the model as well:
                they stay where they are then, such as on the GPU with cuda-parity, and nothing
                but what was found comes back.
            modules: Find the modules of a program that do not convert, or compute something
                else: the package `onnxport` of the active Python converts each by itself, and
                runs it on what it gets in the recorded call. PyTorch may run code of the file:
                ask for it where you would load the file yourself.
            once: Let one module stand for all of equal code, settings and shapes, whatever
                their weights.
            all: Compare every value, also those behind the first wrong node, and list them
                with --json; look at all modules.
            opset: The ONNX opset that a program is converted to for --passes and --modules.
            optimize: The level of the optimizer for --passes: 0, 1, 2 or target; as for
                convert by default.
            target: What is to run the model: onnxruntime, onnxruntime-cpu, onnx (what ONNX
                means, whatever runs it), or a file that says what a runtime takes. Named, it
                must run the model, and may be given operators that only it has; unnamed, it is
                onnxruntime, the operators are ONNX's, and what it does not run is a note.
            input: The value of an input: a .npy file, or a file of weights that holds a
                tensor of this name or one alone; can be repeated.
            inputs: A file with values for inputs by their names: .npz, .safetensors or
                another file of weights.
            seed: What drawn values depend on.
            dim: The size of a dynamic dimension of drawn inputs, by its name or its place,
                such as batch=2 or x:0=2.
            round_memory: What the values that are held at once may take in memory; larger
                models are compared in several rounds.
            report: Write what was found to this file as well: .txt, .md, .json, .html, or
                .sarif for the problems alone; can be repeated.
            executor: The plugin that runs the model: ort for ONNX Runtime, reference for
                onnxport's own evaluator, which is exact and slow, or one that is loaded;
                otherwise the first.
            ort_library: The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active
                Python's packages and the system's folders are searched.
            executor_option: An option of the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; of several executors, that of
                one is called `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model in a process of its own: what crashes or hangs there is
                reported, and nothing else ends with it.
            timeout: The longest that the runtime may take to load the model and to run it
                on all cases, in seconds, and that PyTorch may take to say what is expected (300
                where nothing is said).
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
        """

class Check(Command):
    def __call__(  # type: ignore[override]
        self,
        program: _Path,
        *,
        opset: int | None = None,
        suggest: Literal["all", "python", "rust", "modules"] | bool | None = None,
        report: _Path | Sequence[_Path] | None = None,
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
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """List everything in a program that cannot be converted.

        Args:
            program: The exported program.
            opset: The opset to check for.
            suggest: Print what can be pasted to go on: lowerings of missing operators,
                modules in the place of others.
            report: Write what was found to this file as well: .txt, .md, .json, .html, or
                .sarif for the problems alone; can be repeated.
            decompose: Which calls become the calls that they are made of.
            decompositions: A file of decompositions, which go before those of plugins; can
                be repeated.
            allow: Do not show warnings and notes with this code; can be repeated.
            warn: Show notes with this code as warnings, and its warnings never as errors;
                can be repeated.
            deny: Fail at warnings and notes with this code, before a model appears; can be
                repeated.
            warnings_as_errors: Fail at every warning that no other option is about.
            profile: Write how long each stage, plugin, rule and pass took, and the memory
                meanwhile, to this file: a trace that Perfetto and `chrome://tracing` show.
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
        """

class Convert(Command):
    def __call__(  # type: ignore[override]
        self,
        program: _Path,
        *,
        output: _Path | None = None,
        emit: Literal["program", "normalised", "ir"] | None = None,
        explain_partition: bool | None = None,
        report: _Path | Sequence[_Path] | None = None,
        input_names: _Free | None = None,
        output_names: _Free | None = None,
        dim: _Free | Sequence[_Free] | None = None,
        opset: int | None = None,
        validate: bool | None = None,
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
        quantize: _Free | None = None,
        quantize_form: Literal["dequantize", "matmulnbits"] | None = None,
        accuracy_level: int | None = None,
        quantize_only: str | Sequence[str] | None = None,
        quantize_skip: str | Sequence[str] | None = None,
        turn_weights: bool | None = None,
        transform: _Free | Sequence[_Free] | None = None,
        backend: str | Sequence[str] | None = None,
        blobs: Literal["auto", "embed", "file"] | None = None,
        metadata: Literal["full", "names", "none"] | None = None,
        source_root: _Path | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
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
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Convert a program and verify the result.

        Args:
            program: The exported program, as torch.export.save writes it.
            output: The model to write.
            emit: Print a text form instead of converting.
            explain_partition: Show the regions that backends would take, and why not the
                rest; nothing is compiled or written.
            report: Write what was found to this file as well: .txt, .md, .json, .html, or
                .sarif for the problems alone; can be repeated.
            input_names: Names for the inputs, in order, or other names for some of them:
                pixels,mask or x=pixels.
            output_names: Names for the outputs, in order, or other names for some of them.
            dim: A name for a dynamic dimension of an input, such as x:0=batch, or its only
                size, such as x:0=8.
            opset: The ONNX opset to use.
            validate: Check the graph against the rules of ONNX and what the program states.
            target: What is to run the model: onnxruntime, onnxruntime-cpu, onnx (what ONNX
                means, whatever runs it), or a file that says what a runtime takes. Named, it
                must run the model, and may be given operators that only it has; unnamed, it is
                onnxruntime, the operators are ONNX's, and what it does not run is a note.
            no_verify: Do not run the model.
            verify: False is `no_verify=True`.
            require_verified: Fail where the model cannot be run, or there are no expected
                values to compare with.
            keep_failed: Keep a model that fails, as OUTPUT with `.failed` in its name;
                otherwise nothing is written then.
            reference: Where expected values come from; by default those that were recorded,
                and PyTorch where an active Python has it and none were. `ONNXPORT_REFERENCE`
                says the same.
            executor: The plugin that runs the model: ort for ONNX Runtime, reference for
                onnxport's own evaluator, which is exact and slow, or one that is loaded;
                otherwise the first.
            ort_library: The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active
                Python's packages and the system's folders are searched.
            executor_option: An option of the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; of several executors, that of
                one is called `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model in a process of its own: what crashes or hangs there is
                reported, and nothing else ends with it.
            timeout: The longest that the runtime may take to load the model and to run it
                on all cases, in seconds, and that PyTorch may take to say what is expected (300
                where nothing is said).
            decompose: Which calls become the calls that they are made of.
            decompositions: A file of decompositions, which go before those of plugins; can
                be repeated.
            optimize: How much rules and passes may change: 0 for nothing, 1 where results
                stay the same bit for bit, 2 within the bounds that they state, target for
                operators that only the target has; 2 by default, and target where --target
                names one.
            no_optimize: Run no rules and no passes: the same as --optimize 0.
            explain_rule: Say of a rule or pass, at every place where it was tried, whether
                it was applied and why not.
            skip_rule: Run without this rule or pass; can be repeated.
            stop_after: Stop after this many patches, to find the one that makes a
                difference.
            dump_matches: Write both sides of each place where a rule was applied to this
                folder, as ONNX models.
            max_sweeps: How often the rules go over the graph at most.
            max_growth: How many nodes the rules may add on balance; by default four for
                each node, and at least 10,000.
            inline: Put what local functions compute in the place of their calls: all of
                them, none, or those of up to eight nodes.
            outline: Make local functions of parts of at least so many nodes that stand in
                the model several times in a row.
            reorder: Put nodes in an order in which fewer bytes are alive at once, for
                runtimes that keep to the order of the file.
            fold_budget: By how much constants may grow when what hangs on them alone is
                computed in advance; 0 for not at all.
            dtype: Store parameters and buffers of wider floating-point types in this one,
                with a cast to the type in which the model computes. Those with fewer than two
                axes stay: scales of norms, biases.
            keep_dtype: Weights whose type stays, such as head.*; can be repeated.
            dtype_overflow: What happens to a weight with values beyond the range of that
                type.
            quantize: Quantise the weights of matrix products: int4 or int8, and behind a
                colon block=N or block=channel, symmetric or asymmetric, and by=PLUGIN/NAME
                where a plugin chooses scales and codes, such as int4:block=32,symmetric.
            quantize_form: How a quantised weight appears in the graph.
            accuracy_level: In which type `MatMulNBits` takes its other operand: 1 f32, 2
                f16, 3 bf16, 4 8-bit integers, each off by up to 1/254 of the largest number of
                its block; 0 leaves it to the runtime. 4 unless it is given.
            quantize_only: Quantise these matrices instead, whatever reads them; can be
                repeated.
            quantize_skip: Weights that are not quantised; can be repeated.
            turn_weights: Store weights that products read through a transpose as these take
                them, with .T behind their names: sessions are created faster. Tied weights
                stay.
            transform: Change weights by the transform of a plugin, before anything else,
                such as mylib/prune:conv*; can be repeated.
            backend: A backend that takes the parts of the model that it can run, or a
                plugin for all of its backends; can be repeated: the first one has the first
                choice.
            blobs: Where the blobs go that backends compile.
            metadata: What the model says of the program that it comes from.
            source_root: The folder that files in Python's stacks are named relative to,
                with `--metadata full`.
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            external_data: Where the weights go.
            shard_size: Split the data file into files of at most this size, such as 2GB; a
                larger tensor has a file of its own.
            manifest: Also write OUTPUT.sha256, a list of hashes that `sha256sum --check`
                reads.
            max_memory: The most anonymous memory that the process may take while it writes,
                such as 256MiB.
            no_check_weights: Do not hold weights against the checksums of the archives that
                they come from.
            check_weights: False is `no_check_weights=True`.
            no_initializers: Leave out the data of parameters, buffers and constants of the
                program.
            initializers: False is `no_initializers=True`.
            initializers_as_inputs: Declare parameters, buffers and constants of the program
                as inputs, behind the others.
            plan: Print what would be written, and how much space and memory it takes; write
                nothing. With =tensors, also where every tensor comes from, what happens to it
                and where it goes.
            weights: A file of weights, or a folder of shards: .safetensors, an index of
                shards, a checkpoint of torch.save, another .pt2; can be repeated.
            weights_plugin: A plugin that makes weights, by its id; can be repeated.
            weights_map: Rules for names: a TOML or JSON file with the tables `rename` and
                `prefix`.
            weights_prefix: What names in the files start with and the program's do not,
                such as model.
            weights_key: The entry of a checkpoint that holds the weights, with dots between
                levels.
            weights_cast: Round floats of another type to the program's.
            weightless: Write a model that waits for its weights, those that the program
                holds included; `onnxport weights bind` gives them.
            allow: Do not show warnings and notes with this code; can be repeated.
            warn: Show notes with this code as warnings, and its warnings never as errors;
                can be repeated.
            deny: Fail at warnings and notes with this code, before a model appears; can be
                repeated.
            warnings_as_errors: Fail at every warning that no other option is about.
            profile: Write how long each stage, plugin, rule and pass took, and the memory
                meanwhile, to this file: a trace that Perfetto and `chrome://tracing` show.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
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
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Say what differs between two ONNX models, node by node.

        Args:
            a: An ONNX model.
            b: Another one.
            values: Run both models, and hold their values against each other, node by node.
            exit_code: End with exit code 4 where anything differs.
            input: The value of an input: a .npy file, or a file of weights that holds a
                tensor of this name or one alone; can be repeated.
            inputs: A file with values for inputs by their names: .npz, .safetensors or
                another file of weights.
            seed: What drawn values depend on.
            dim: The size of a dynamic dimension of drawn inputs, by its name or its place,
                such as batch=2 or x:0=2.
            round_memory: What the values that are held at once may take in memory; larger
                models are compared in several rounds.
            executor: The plugin that runs the model: ort for ONNX Runtime, reference for
                onnxport's own evaluator, which is exact and slow, or one that is loaded;
                otherwise the first.
            ort_library: The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active
                Python's packages and the system's folders are searched.
            executor_option: An option of the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; of several executors, that of
                one is called `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model in a process of its own: what crashes or hangs there is
                reported, and nothing else ends with it.
            timeout: The longest that the runtime may take to load the model and to run it
                on all cases, in seconds, and that PyTorch may take to say what is expected (300
                where nothing is said).
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
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
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Show what a .pt2 or .onnx file, or a file of weights, holds.

        Args:
            file: A .pt2 or .onnx file, or weights: .safetensors, an index of shards, a
                checkpoint of torch.save, a folder of these.
            other: Another file, to see beside each other where what they hold differs;
                `--all` shows the rest as well.
            all: Show every operator, guard and tensor.
            weights: Show every tensor: its source, which part of it, its size, and which
                tensors share it. Files that hold nothing but weights are shown so in any case.
            weights_key: The entry of a checkpoint that holds the weights, with dots between
                levels.
            manifest: Compare the files of a model with FILE.sha256, as `convert --manifest`
                writes it.
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
        """

class Ops(Command):
    def __call__(  # type: ignore[override]
        self,
        pattern: str | None = None,
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
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """List the operators that can be converted.

        Args:
            pattern: Show only operators whose name contains this; * stands for any text.
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
        """

class Package(Command):
    def __call__(  # type: ignore[override]
        self,
        programs: _Free | Sequence[_Free],
        *,
        output: _Path,
        input_names: _Free | Sequence[_Free] | None = None,
        output_names: _Free | Sequence[_Free] | None = None,
        dim: _Free | Sequence[_Free] | None = None,
        opset: int | None = None,
        validate: bool | None = None,
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
        quantize: _Free | None = None,
        quantize_form: Literal["dequantize", "matmulnbits"] | None = None,
        accuracy_level: int | None = None,
        quantize_only: str | Sequence[str] | None = None,
        quantize_skip: str | Sequence[str] | None = None,
        turn_weights: bool | None = None,
        transform: _Free | Sequence[_Free] | None = None,
        backend: str | Sequence[str] | None = None,
        blobs: Literal["auto", "embed", "file"] | None = None,
        metadata: Literal["full", "names", "none"] | None = None,
        source_root: _Path | None = None,
        plugin: _Path | Sequence[_Path] | None = None,
        use: str | Sequence[str] | None = None,
        plugin_option: str | Sequence[str] | None = None,
        project: _Path | None = None,
        plugin_allow: _Path | None = None,
        on_plugin_panic: Literal["continue", "stop"] | None = None,
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
        report: _Path | Sequence[_Path] | None = None,
        allow: str | Sequence[str] | None = None,
        warn: str | Sequence[str] | None = None,
        deny: str | Sequence[str] | None = None,
        warnings_as_errors: bool | None = None,
        json: bool | None = None,
        quiet: bool | None = None,
        verbose: int | None = None,
        color: Literal["auto", "always", "never"] | None = None,
        plugin_timeout: str | float | None = None,
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Convert several programs into a folder, with one data file for all.

        Args:
            programs: The exported programs, each with the name of its model, such as
                encoder=enc.pt2; without one it is that of the file.
            output: The folder to make.
            input_names: Names for the inputs of a model, in order, or other names for some
                of them: encoder/pixels,mask or encoder/x=pixels.
            output_names: Names for the outputs of a model, likewise.
            dim: A name for a dynamic dimension of an input of a model, such as
                encoder/x:0=batch, or its only size.
            opset: The ONNX opset to use.
            validate: Check the graph against the rules of ONNX and what the program states.
            target: What is to run the model: onnxruntime, onnxruntime-cpu, onnx (what ONNX
                means, whatever runs it), or a file that says what a runtime takes. Named, it
                must run the model, and may be given operators that only it has; unnamed, it is
                onnxruntime, the operators are ONNX's, and what it does not run is a note.
            no_verify: Do not run the model.
            verify: False is `no_verify=True`.
            require_verified: Fail where the model cannot be run, or there are no expected
                values to compare with.
            keep_failed: Keep a model that fails, as OUTPUT with `.failed` in its name;
                otherwise nothing is written then.
            reference: Where expected values come from; by default those that were recorded,
                and PyTorch where an active Python has it and none were. `ONNXPORT_REFERENCE`
                says the same.
            executor: The plugin that runs the model: ort for ONNX Runtime, reference for
                onnxport's own evaluator, which is exact and slow, or one that is loaded;
                otherwise the first.
            ort_library: The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active
                Python's packages and the system's folders are searched.
            executor_option: An option of the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; of several executors, that of
                one is called `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model in a process of its own: what crashes or hangs there is
                reported, and nothing else ends with it.
            timeout: The longest that the runtime may take to load the model and to run it
                on all cases, in seconds, and that PyTorch may take to say what is expected (300
                where nothing is said).
            decompose: Which calls become the calls that they are made of.
            decompositions: A file of decompositions, which go before those of plugins; can
                be repeated.
            optimize: How much rules and passes may change: 0 for nothing, 1 where results
                stay the same bit for bit, 2 within the bounds that they state, target for
                operators that only the target has; 2 by default, and target where --target
                names one.
            no_optimize: Run no rules and no passes: the same as --optimize 0.
            explain_rule: Say of a rule or pass, at every place where it was tried, whether
                it was applied and why not.
            skip_rule: Run without this rule or pass; can be repeated.
            stop_after: Stop after this many patches, to find the one that makes a
                difference.
            dump_matches: Write both sides of each place where a rule was applied to this
                folder, as ONNX models.
            max_sweeps: How often the rules go over the graph at most.
            max_growth: How many nodes the rules may add on balance; by default four for
                each node, and at least 10,000.
            inline: Put what local functions compute in the place of their calls: all of
                them, none, or those of up to eight nodes.
            outline: Make local functions of parts of at least so many nodes that stand in
                the model several times in a row.
            reorder: Put nodes in an order in which fewer bytes are alive at once, for
                runtimes that keep to the order of the file.
            fold_budget: By how much constants may grow when what hangs on them alone is
                computed in advance; 0 for not at all.
            dtype: Store parameters and buffers of wider floating-point types in this one,
                with a cast to the type in which the model computes. Those with fewer than two
                axes stay: scales of norms, biases.
            keep_dtype: Weights whose type stays, such as head.*; can be repeated.
            dtype_overflow: What happens to a weight with values beyond the range of that
                type.
            quantize: Quantise the weights of matrix products: int4 or int8, and behind a
                colon block=N or block=channel, symmetric or asymmetric, and by=PLUGIN/NAME
                where a plugin chooses scales and codes, such as int4:block=32,symmetric.
            quantize_form: How a quantised weight appears in the graph.
            accuracy_level: In which type `MatMulNBits` takes its other operand: 1 f32, 2
                f16, 3 bf16, 4 8-bit integers, each off by up to 1/254 of the largest number of
                its block; 0 leaves it to the runtime. 4 unless it is given.
            quantize_only: Quantise these matrices instead, whatever reads them; can be
                repeated.
            quantize_skip: Weights that are not quantised; can be repeated.
            turn_weights: Store weights that products read through a transpose as these take
                them, with .T behind their names: sessions are created faster. Tied weights
                stay.
            transform: Change weights by the transform of a plugin, before anything else,
                such as mylib/prune:conv*; can be repeated.
            backend: A backend that takes the parts of the model that it can run, or a
                plugin for all of its backends; can be repeated: the first one has the first
                choice.
            blobs: Where the blobs go that backends compile.
            metadata: What the model says of the program that it comes from.
            source_root: The folder that files in Python's stacks are named relative to,
                with `--metadata full`.
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            shard_size: Split the data file into files of at most this size, such as 2GB; a
                larger tensor has a file of its own.
            manifest: Also write OUTPUT.sha256, a list of hashes that `sha256sum --check`
                reads.
            max_memory: The most anonymous memory that the process may take while it writes,
                such as 256MiB.
            no_check_weights: Do not hold weights against the checksums of the archives that
                they come from.
            check_weights: False is `no_check_weights=True`.
            plan: Print what would be written, and how much space and memory it takes; write
                nothing. With =tensors, also where every tensor comes from, what happens to it
                and where it goes.
            weights: A file of weights, or a folder of shards: .safetensors, an index of
                shards, a checkpoint of torch.save, another .pt2; can be repeated.
            weights_plugin: A plugin that makes weights, by its id; can be repeated.
            weights_map: Rules for names: a TOML or JSON file with the tables `rename` and
                `prefix`.
            weights_prefix: What names in the files start with and the program's do not,
                such as model.
            weights_key: The entry of a checkpoint that holds the weights, with dots between
                levels.
            weights_cast: Round floats of another type to the program's.
            profile: Write how long each stage, plugin, rule and pass took, and the memory
                meanwhile, to this file: a trace that Perfetto and `chrome://tracing` show.
            report: Write what was found to this file as well: .txt, .md, .json, .html, or
                .sarif for the problems alone; can be repeated.
            allow: Do not show warnings and notes with this code; can be repeated.
            warn: Show notes with this code as warnings, and its warnings never as errors;
                can be repeated.
            deny: Fail at warnings and notes with this code, before a model appears; can be
                repeated.
            warnings_as_errors: Fail at every warning that no other option is about.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
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
        by: Literal["operator", "module", "line", "node"] | None = None,
        all: bool | None = None,
        executor: str | None = None,
        ort_library: _Path | None = None,
        executor_option: str | Sequence[str] | None = None,
        isolate: bool | None = None,
        timeout: str | float | None = None,
        report: _Path | Sequence[_Path] | None = None,
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
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Say where the time of a model goes in ONNX Runtime, or what is slower in another one.

        Args:
            model: The ONNX model, or a profile of one that was written as .json.
            against: Another model, which is run in turn with the first one, or another
                profile: what takes more or less time there.
            input: The value of an input: a .npy file, or a file of weights that holds a
                tensor of this name or one alone; can be repeated.
            inputs: A file with values for inputs by their names: .npz, .safetensors or
                another file of weights.
            seed: What drawn values depend on: floats between -1 and 1, integers and truth
                values 0 or 1, for inputs that are not given.
            dim: The size of a dynamic dimension of drawn inputs, by its name or its place,
                such as batch=2 or x:0=2.
            runs: How often each model is run, after two runs that do not count.
            threads: How many threads the runtime may use within an operator; otherwise it
                chooses.
            by: Show the times by this alone.
            all: Show every row.
            executor: The plugin that runs the model: ort for ONNX Runtime, reference for
                onnxport's own evaluator, which is exact and slow, or one that is loaded;
                otherwise the first.
            ort_library: The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active
                Python's packages and the system's folders are searched.
            executor_option: An option of the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; of several executors, that of
                one is called `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model in a process of its own: what crashes or hangs there is
                reported, and nothing else ends with it.
            timeout: The longest that the runtime may take to load the model and to run it
                on all cases, in seconds, and that PyTorch may take to say what is expected (300
                where nothing is said).
            report: Write what was found to this file as well: .txt, .md, .json, .html, or
                .sarif for the problems alone; can be repeated.
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
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
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Run an ONNX model once, and show or write what comes out.

        Args:
            model: The ONNX model.
            input: The value of an input: a .npy file, or a file of weights that holds a
                tensor of this name or one alone; can be repeated.
            inputs: A file with values for inputs by their names: .npz, .safetensors or
                another file of weights.
            random: Draw the inputs that are not given: floats between -1 and 1, integers
                and truth values 0 or 1.
            seed: What drawn values depend on.
            dim: The size of a dynamic dimension of drawn inputs, by its name or its place,
                such as batch=2 or x:0=2.
            output: Write the outputs to this file, .safetensors.
            executor: The plugin that runs the model: ort for ONNX Runtime, reference for
                onnxport's own evaluator, which is exact and slow, or one that is loaded;
                otherwise the first.
            ort_library: The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active
                Python's packages and the system's folders are searched.
            executor_option: An option of the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; of several executors, that of
                one is called `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model in a process of its own: what crashes or hangs there is
                reported, and nothing else ends with it.
            timeout: The longest that the runtime may take to load the model and to run it
                on all cases, in seconds, and that PyTorch may take to say what is expected (300
                where nothing is said).
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
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
        report: _Path | Sequence[_Path] | None = None,
        profile: _Path | None = None,
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
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Run a model and compare what it computes with what PyTorch computed.

        Args:
            model: The ONNX model.
            against: The program that it was converted from, or the expected values recorded
                beside it; without one the executors are held against each other, on drawn
                inputs.
            inputs: A file with calls to run the model on, and no others: values by the
                names of inputs in .npz, .json, .safetensors or another file of weights. Of
                several calls each name begins with that of its call, as in first/x; can be
                repeated.
            draw: How the values of an input are drawn: normal(MEAN,DEVIATION),
                uniform(LOW,HIGH), integers(LOW,HIGH), ones, arange or mask; can be repeated.
                Other inputs have the rule that their recorded values, and what reads them,
                suggest.
            seed: Draw a call whose values depend on this number.
            max_memory: The most that all values of the program may take in the largest call
                that is drawn.
            reference: Where expected values come from; by default those that were recorded,
                and PyTorch where an active Python has it and none were. `ONNXPORT_REFERENCE`
                says the same.
            executor: A plugin that runs the model: ort for ONNX Runtime, reference for
                onnxport's own evaluator, which is exact and slow, or one that is loaded; can be
                repeated, and otherwise is the first.
            ort_library: The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active
                Python's packages and the system's folders are searched.
            executor_option: An option of the runtime, such as `custom_ops=PATH` for a
                library of custom operators, or `bytes=NUMBER`, `steps=NUMBER` and
                `seconds=NUMBER` for the budgets of the evaluator; of several executors, that of
                one is called `reference:bytes=NUMBER`; can be repeated.
            isolate: Run the model in a process of its own: what crashes or hangs there is
                reported, and nothing else ends with it.
            timeout: The longest that the runtime may take to load the model and to run it
                on all cases, in seconds, and that PyTorch may take to say what is expected (300
                where nothing is said).
            tolerance: Where the tolerance of floating-point outputs comes from: their
                element types, or the noise of the computation, which is how far the program is
                from itself in float64.
            rtol: Replace the relative tolerance of floating-point outputs.
            atol: Replace the absolute tolerance of floating-point outputs.
            comparer: The plugin that compares the outputs; without one, onnxport does. With
                --taps, one that runs the model as well compares the values inside of it where
                they are, such as on the GPU.
            comparer_option: An option of the comparer, such as `device=1` or `memory=BYTES`
                of cuda-parity; can be repeated.
            comparer_fallback: Compare without the plugin what it cannot compare here, with
                a warning, instead of failing.
            taps: Also hold the values inside of the model against those that were recorded
                with the program, against another executor's, or against those of onnxport's own
                evaluator; a report shows the error along the graph.
            report: Write what was found to this file as well: .txt, .md, .json, .html, or
                .sarif for the problems alone; can be repeated.
            profile: Write how long each stage, plugin, rule and pass took, and the memory
                meanwhile, to this file: a trace that Perfetto and `chrome://tracing` show.
            plugin: A plugin library to load, or a folder of libraries with manifests; can
                be repeated. Also read from ONNXPORT_PLUGIN_PATH.
            use: The plugin that lowers an operator which several offer, such as
                aten.add.Tensor=mylib; can be repeated.
            plugin_option: An option of a plugin; can be repeated. `onnxport plugin info`
                lists what there is.
            project: A file, onnxport.toml, whose plugins and choices are used; none are
                unless it is named here or by --config.
            plugin_allow: A list of the libraries that may be loaded, id = "SHA-256";
                without one, those that are named.
            on_plugin_panic: What to do after a plugin panicked.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
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
        config: _Path | bool | None = None,
        no_config: bool | None = None,
        preset: str | None = None,
        unset: str | Sequence[str] | None = None,
        print_config: bool | None = None,
    ) -> Result:
        """Give a model the weights for which it waits.

        Args:
            model: A model that `onnxport convert --weightless` wrote.
            from_: A file of weights, or a folder of shards: .safetensors, an index of
                shards, a checkpoint of torch.save, a .pt2; can be repeated.
            output: The model to write, if not over the one that waits.
            weights_map: Rules for names: a TOML or JSON file with the tables `rename` and
                `prefix`.
            weights_prefix: What names in the files start with and the program's do not,
                such as model.
            weights_key: The entry of a checkpoint that holds the weights, with dots between
                levels.
            weights_cast: Round floats of another type to the program's.
            external_data: Where the weights go.
            shard_size: Split the data file into files of at most this size, such as 2GB; a
                larger tensor has a file of its own.
            manifest: Also write OUTPUT.sha256, a list of hashes that `sha256sum --check`
                reads.
            max_memory: The most anonymous memory that the process may take while it writes,
                such as 256MiB.
            no_check_weights: Do not hold weights against the checksums of the archives that
                they come from.
            check_weights: False is `no_check_weights=True`.
            json: Print one JSON object instead of text.
            quiet: Print nothing but results and problems.
            verbose: Show what plugins say besides warnings; twice for what their authors
                want to know.
            color: When to use colours.
            plugin_timeout: The longest that one call of a plugin may take, in seconds;
                running a model does not count.
            config: Read options from this file, instead of an onnxport.toml in the working
                directory or in a folder around it, up to the root of the repository. Also
                `ONNXPORT_CONFIG`.
            no_config: Read no options from a file.
            preset: Use the options below [preset.NAME] of the file as well, which go before
                the others. Also `ONNXPORT_PRESET`.
            unset: Leave an option as it is by default, whatever the file says; can be
                repeated.
            print_config: Print the options that count, and where each comes from, instead
                of running the command.
        """

class OptimizeOptions(TypedDict, total=False):
    emit: bool | None
    """Print the text form of the graph instead of writing it."""
    optimize: Literal["0", "1", "2", "target", 0, 1, 2] | bool | None
    """How much rules and passes may change: 0 for nothing, 1 where results stay the same bit
    for bit, 2 within the bounds that they state, target for operators that only the target has;
    2 by default, and target where --target names one."""
    no_optimize: bool | None
    """Run no rules and no passes: the same as --optimize 0."""
    explain_rule: str | None
    """Say of a rule or pass, at every place where it was tried, whether it was applied and why
    not."""
    skip_rule: str | Sequence[str] | None
    """Run without this rule or pass; can be repeated."""
    stop_after: int | None
    """Stop after this many patches, to find the one that makes a difference."""
    dump_matches: _Path | None
    """Write both sides of each place where a rule was applied to this folder, as ONNX
    models."""
    max_sweeps: int | None
    """How often the rules go over the graph at most."""
    max_growth: int | None
    """How many nodes the rules may add on balance; by default four for each node, and at least
    10,000."""
    inline: Literal["all", "small", "none"] | None
    """Put what local functions compute in the place of their calls: all of them, none, or those
    of up to eight nodes."""
    outline: int | None
    """Make local functions of parts of at least so many nodes that stand in the model several
    times in a row."""
    reorder: bool | None
    """Put nodes in an order in which fewer bytes are alive at once, for runtimes that keep to
    the order of the file."""
    fold_budget: str | int | None
    """By how much constants may grow when what hangs on them alone is computed in advance; 0
    for not at all."""
    target: _Path | None
    """What is to run the model: onnxruntime, onnxruntime-cpu, onnx (what ONNX means, whatever
    runs it), or a file that says what a runtime takes. Named, it must run the model, and may be
    given operators that only it has; unnamed, it is onnxruntime, the operators are ONNX's, and
    what it does not run is a note."""
    external_data: Literal["auto", "inline", "external", "reference"] | None
    """Where the weights go."""
    shard_size: str | int | None
    """Split the data file into files of at most this size, such as 2GB; a larger tensor has a
    file of its own."""
    manifest: bool | None
    """Also write OUTPUT.sha256, a list of hashes that `sha256sum --check` reads."""
    max_memory: str | int | None
    """The most anonymous memory that the process may take while it writes, such as 256MiB."""
    no_check_weights: bool | None
    """Do not hold weights against the checksums of the archives that they come from."""
    check_weights: bool | None
    """False is `no_check_weights=True`."""
    verify: bool | None
    """Run the model before and after on the same values, and write it only if both compute the
    same."""
    keep_failed: bool | None
    """Keep a model that computes something else, as OUTPUT with `.failed` in its name."""
    inputs: _Path | Sequence[_Path] | None
    """A file with calls, as `onnxport verify` takes them; values are drawn otherwise. Can be
    repeated."""
    draw: str | Sequence[str] | None
    """How the values of an input are drawn, as `onnxport verify` takes it; can be repeated."""
    seed: int | None
    """What drawn values depend on."""
    rtol: float | None
    """Replace the relative tolerance of floating-point outputs."""
    atol: float | None
    """Replace the absolute tolerance of floating-point outputs."""
    executor: str | None
    """The plugin that runs the model: ort for ONNX Runtime, reference for onnxport's own
    evaluator, which is exact and slow, or one that is loaded; otherwise the first."""
    ort_library: _Path | None
    """The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active Python's packages and the
    system's folders are searched."""
    executor_option: str | Sequence[str] | None
    """An option of the runtime, such as `custom_ops=PATH` for a library of custom operators, or
    `bytes=NUMBER`, `steps=NUMBER` and `seconds=NUMBER` for the budgets of the evaluator; of
    several executors, that of one is called `reference:bytes=NUMBER`; can be repeated."""
    isolate: bool | None
    """Run the model in a process of its own: what crashes or hangs there is reported, and
    nothing else ends with it."""
    timeout: str | float | None
    """The longest that the runtime may take to load the model and to run it on all cases, in
    seconds, and that PyTorch may take to say what is expected (300 where nothing is said)."""
    profile: _Path | None
    """Write how long each stage, plugin, rule and pass took, and the memory meanwhile, to this
    file: a trace that Perfetto and `chrome://tracing` show."""
    plugin: _Path | Sequence[_Path] | None
    """A plugin library to load, or a folder of libraries with manifests; can be repeated. Also
    read from ONNXPORT_PLUGIN_PATH."""
    use: str | Sequence[str] | None
    """The plugin that lowers an operator which several offer, such as aten.add.Tensor=mylib;
    can be repeated."""
    plugin_option: str | Sequence[str] | None
    """An option of a plugin; can be repeated. `onnxport plugin info` lists what there is."""
    project: _Path | None
    """A file, onnxport.toml, whose plugins and choices are used; none are unless it is named
    here or by --config."""
    plugin_allow: _Path | None
    """A list of the libraries that may be loaded, id = "SHA-256"; without one, those that are
    named."""
    on_plugin_panic: Literal["continue", "stop"] | None
    """What to do after a plugin panicked."""
    json: bool | None
    """Print one JSON object instead of text."""
    quiet: bool | None
    """Print nothing but results and problems."""
    verbose: int | None
    """Show what plugins say besides warnings; twice for what their authors want to know."""
    color: Literal["auto", "always", "never"] | None
    """When to use colours."""
    plugin_timeout: str | float | None
    """The longest that one call of a plugin may take, in seconds; running a model does not
    count."""
    config: _Path | bool | None
    """Read options from this file, instead of an onnxport.toml in the working directory or in a
    folder around it, up to the root of the repository. Also `ONNXPORT_CONFIG`."""
    no_config: bool | None
    """Read no options from a file."""
    preset: str | None
    """Use the options below [preset.NAME] of the file as well, which go before the others. Also
    `ONNXPORT_PRESET`."""
    unset: str | Sequence[str] | None
    """Leave an option as it is by default, whatever the file says; can be repeated."""
    print_config: bool | None
    """Print the options that count, and where each comes from, instead of running the
    command."""
