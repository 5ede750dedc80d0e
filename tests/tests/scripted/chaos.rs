//! Random scripts from a seed. `CHAOS_ROUNDS=100000` plays more of them, `CHAOS_SEED=7` others,
//! `CHAOS_DATA=<hex>` one that failed.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mcp_sansio_tests::chaos::{
    client_survives, login_survives, pair_survives, server_survives, tasks_survive,
};
use mcp_sansio_tests::frames::record;
use mcp_sansio_tests::random::Random;

#[test]
fn the_server_survives() {
    survives(server_survives);
}

#[test]
fn the_client_survives() {
    survives(client_survives);
}

#[test]
fn the_pair_survives() {
    survives(pair_survives);
}

#[test]
fn tasks_of_the_pair_survive() {
    survives(tasks_survive);
}

#[test]
fn auth_98_auth_113_auth_93_a_login_survives() {
    survives(login_survives);
}

/// Plays many scripts, or the one in `CHAOS_DATA`.
fn survives(play: fn(&[u8])) {
    if let Ok(hex) = env::var("CHAOS_DATA") {
        return play(&unhex(&hex));
    }
    let number = |name, default| env::var(name).map_or(default, |text| text.parse().expect(name));
    let (seed, rounds) = (number("CHAOS_SEED", 1), number("CHAOS_ROUNDS", ROUNDS));
    for round in 0..rounds {
        record("round", format_args!("{round} of seed {seed}"));
        let data = random(seed, round);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| play(&data))) {
            let data = shortest(play, data);
            let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("\nCHAOS_SEED={seed}, round {round}; to replay what is left of it:");
            eprintln!("CHAOS_DATA={hex}");
            resume_unwind(panic);
        }
    }
}

/// Returns a short prefix that still fails.
fn shortest(play: fn(&[u8]), mut data: Vec<u8>) -> Vec<u8> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let fails = |data: &[u8]| catch_unwind(AssertUnwindSafe(|| play(data))).is_err();
    let mut step = data.len() / 2;
    while step > 0 {
        while data.len() > step && fails(&data[..data.len() - step]) {
            data.truncate(data.len() - step);
        }
        step /= 2;
    }
    std::panic::set_hook(hook);
    data
}

/// Returns 1 to 1,000 bytes, the same for the same arguments.
fn random(seed: u64, round: u64) -> Vec<u8> {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ round);
    let len = 1 + random.below(1000);
    (0..len).map(|_| random.below(256) as u8).collect()
}

fn unhex(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len() / 2).map(|n| byte(2 * n)).collect()
}

/// Takes less than four seconds in a debug build.
const ROUNDS: u64 = 600;
