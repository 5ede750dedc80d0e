//! A login at a terminal, where a browser is opened.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::server::{World, person};
use super::{Home, INSPECT};

#[test]
fn at_a_terminal_a_browser_is_opened_unless_it_is_not_wanted() {
    for options in [&[][..], &["--no-browser"]] {
        let (world, home) = (World::new(), Home::new());
        // The browser writes down what it is to open.
        let (programs, opened) = (home.0.join("bin"), home.0.join("opened"));
        fs::create_dir(&programs).unwrap();
        let browser = programs.join("xdg-open");
        let script =
            format!("#!/bin/sh\nprintf %s \"$*\" > {0}.new\nmv {0}.new {0}\n", opened.display());
        fs::write(&browser, script).unwrap();
        fs::set_permissions(&browser, fs::Permissions::from_mode(0o700)).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());

        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let screen = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut inspect = Command::new(INSPECT)
            .arg("login")
            .args(options)
            .arg(&world.url)
            .env("HOME", &home.0)
            .env_remove("XDG_STATE_HOME")
            .env("PATH", path)
            .env("DISPLAY", ":0")
            .stdin(screen.try_clone().unwrap())
            .stdout(Stdio::piped())
            .stderr(screen)
            .spawn()
            .unwrap();
        let shown = thread::spawn(move || {
            let mut text = Vec::new();
            // A terminal whose other end is closed cannot be read.
            let _ = File::from(terminal).read_to_end(&mut text);
            String::from_utf8(text).unwrap()
        });
        let is_wanted = options.is_empty();
        let page = if is_wanted {
            let end = Instant::now() + Duration::from_secs(20);
            while !opened.exists() {
                assert!(Instant::now() < end, "no browser was opened");
                thread::sleep(Duration::from_millis(5));
            }
            fs::read_to_string(&opened).unwrap()
        } else {
            super::Running::line_of(inspect.stdout.as_mut().unwrap())
        };
        assert_eq!(person(&page), 200);
        assert!(inspect.wait().unwrap().success());
        assert_eq!(opened.exists(), is_wanted);
        let shown = shown.join().unwrap();
        let expected = if is_wanted { "Opening a browser to log in" } else { "open this page" };
        assert!(shown.contains(expected) && shown.contains("Logged in to "), "{shown}");
    }
}
