// What judge.mjs refuses: node --test tests/conformance/judge.test.mjs

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const judge = join(import.meta.dirname, "judge.mjs");

// Judges a run named `all` with these scenarios, each with the status of its one check.
function judged(found, { scored = 2, scenarios = 2, status = 0, expected = "" } = {}) {
  const at = mkdtempSync(join(tmpdir(), "judge-"));
  try {
    const [results, log, list] = ["results", "log", "expected.txt"].map((name) => join(at, name));
    mkdirSync(results);
    for (const [scenario, outcome] of Object.entries(found)) {
      mkdirSync(join(results, scenario));
      writeFileSync(join(results, scenario, "checks.json"), JSON.stringify(outcome ? [{ id: "check", status: outcome, description: "what" }] : []));
    }
    writeFileSync(log, "");
    writeFileSync(list, expected);
    const ended = spawnSync(process.execPath, [judge, "server", "all", scored, scenarios, results, log, list, status].map(String), { encoding: "utf8" });
    return { passes: ended.status === 0, text: ended.stdout };
  } finally {
    rmSync(at, { recursive: true });
  }
}

const good = { a: "SUCCESS", b: "SUCCESS" };

test("a run that is as expected passes", () => assert.ok(judged(good).passes));

test("a run of too few or of other scenarios fails", () => {
  for (const [found, counts] of [[{ a: "SUCCESS" }, {}], [{}, {}], [good, { scored: 1 }], [good, { scenarios: 3 }]]) assert.ok(!judged(found, counts).passes);
});

test("a scenario that fails, warns or checks nothing fails the run", () => {
  for (const outcome of ["FAILURE", "WARNING", ""]) assert.ok(!judged({ ...good, b: outcome }).passes, outcome);
});

test("a listed scenario must fail, and must occur", () => {
  const expected = "b   the reason\n";
  assert.ok(judged({ ...good, b: "FAILURE" }, { expected, status: 1 }).passes);
  assert.ok(!judged(good, { expected }).passes);
  assert.match(judged(good, { expected: "c   the reason\n" }).text, /c is in .*, but does not occur/);
});

test("a status without a failed scenario is not dropped", () => assert.ok(!judged(good, { status: 1 }).passes));
