//! Compiles the stiff problems, which are written in C++ for all peers.

use std::path::Path;
use std::process::Command;

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo says where");
    let object = Path::new(&out).join("problems.o");
    let library = Path::new(&out).join("libproblems.a");
    let compiled = Command::new("g++")
        .args([
            "-std=c++17",
            "-O3",
            "-march=native",
            "-c",
            "problems.cpp",
            "-o",
        ])
        .arg(&object)
        .status();
    assert!(compiled.is_ok_and(|status| status.success()), "g++ failed");
    let archived = Command::new("ar")
        .arg("crs")
        .args([&library, &object])
        .status();
    assert!(archived.is_ok_and(|status| status.success()), "ar failed");
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=problems");
    println!("cargo:rustc-link-lib=stdc++");
    println!("cargo:rerun-if-changed=problems.cpp");
    println!("cargo:rerun-if-changed=../stiff_problems.hpp");
}
