//! The command from outside, in one program: a module for each subject. `program` starts the command, `library`
//! builds the libraries that it loads.

mod library;
mod program;

mod authors;
mod cli;
mod config;
mod damage;
mod escapes;
mod faults;
mod inspect;
mod isolate;
mod legal;
mod memory;
mod modules;
mod names;
mod optimize;
mod options;
mod plugins;
mod profile;
mod profiling;
mod report;
mod rules;
mod run;
mod runtime;
mod sandbox;
mod sizes;
mod threads;
mod unverified;
mod verify;
mod weights_plugin;
mod writing;
