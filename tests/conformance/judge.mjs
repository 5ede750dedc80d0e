// Judges the results of a run of the conformance suite.
//
//   node judge.mjs ROLE NAME SCORED SCENARIOS RESULTS LOG EXPECTED STATUS
//
// A scenario passes if at least one of its own checks succeeded and none failed or warned. Without a check, or with the validity of messages alone, it fails.
// Scenarios listed in EXPECTED must fail; a line there is a scenario, white space, and the reason. In the run that is named `all` each of them must occur.
// There must be results of exactly SCENARIOS scenarios, of which SCORED are scored. STATUS is that with which the suite ended: others than 0 need a
// scenario that failed. Exits with 1 if a result is not as expected.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const [role, name, scored, scenarios, results, log, expectedFile, status] = process.argv.slice(2);
const expected = new Map();
for (const line of readFileSync(expectedFile, "utf8").split("\n")) {
  const [, scenario, reason] = /^(\S+)\s+(\S.*)$/.exec(line.replace(/^#.*/, "")) ?? [];
  if (scenario) expected.set(scenario, reason);
}

// `auth/basic-cimd` is a nested directory.
function* directories(at, prefix = "") {
  for (const entry of readdirSync(at, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const path = join(at, entry.name);
    if (existsSync(join(path, "checks.json"))) yield [prefix + entry.name, path];
    else yield* directories(path, `${prefix}${entry.name}/`);
  }
}

const text = readFileSync(log, "utf8");
const unscored = new Set([...text.matchAll(/^ {2}[✓✗~-] (\S+) \((?:extension|added-after-release|pending)[^)]*\)/gmu)].map((found) => found[1]));
const counts = { passed: 0, scored: 0, expected: 0, failed: 0, wrong: 0, checks: 0 };
const lines = [];
const seen = new Set();
for (const [directory, path] of [...directories(results)].sort()) {
  const scenario = directory.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "").replace(/^server-(?=.*$)/, role === "server" ? "" : "server-");
  seen.add(scenario);
  const checks = JSON.parse(readFileSync(join(path, "checks.json"), "utf8"));
  const own = checks.filter((check) => !check.id.startsWith("wire-schema-"));
  const good = own.filter((check) => check.status === "SUCCESS").length;
  const bad = checks.filter((check) => check.status === "FAILURE" || check.status === "WARNING");
  const passed = good > 0 && bad.length === 0;
  const isScored = !unscored.has(scenario);
  if (passed) counts.checks += good;
  else counts.failed += 1;
  if (isScored) counts.scored += 1;
  if (isScored && passed) counts.passed += 1;
  if (passed === !expected.has(scenario)) {
    if (!passed) counts.expected += isScored ? 1 : 0;
    continue;
  }
  counts.wrong += 1;
  if (passed) lines.push(`  ${scenario}: expected to fail, and passes: take it out of ${expectedFile}`);
  else if (bad.length === 0) lines.push(`  ${scenario}: nothing was checked`);
  else lines.push(...bad.map((check) => `  ${scenario}: ${check.status} ${check.id}: ${check.errorMessage ?? check.description}`));
}
const rest = counts.expected > 0 ? `, ${counts.expected} expected to fail` : "";
console.log(`${role}, ${name}: ${counts.passed} of ${counts.scored} scored scenarios pass (${counts.checks} checks of their own${rest})`);
const complaints = [];
if (counts.scored !== Number(scored)) complaints.push(`${scored} scored scenarios must have results`);
if (seen.size !== Number(scenarios)) complaints.push(`${scenarios} scenarios must have results, not ${seen.size}`);
if (name === "all") {
  for (const scenario of expected.keys()) if (!seen.has(scenario)) complaints.push(`${scenario} is in ${expectedFile}, but does not occur`);
}
if (status !== "0" && counts.failed === 0) complaints.push(`the suite ended with status ${status}, but no scenario failed; see ${log}`);
lines.concat(complaints.map((complaint) => `  ${complaint}`)).forEach((line) => console.log(line));
process.exit(counts.wrong > 0 || complaints.length > 0 ? 1 : 0);
