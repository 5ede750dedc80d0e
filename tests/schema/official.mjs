// Writes the official JSON schemas of all revisions, REVISION.json, from where a package registry has them: the conformance suite contains
// those of 2025-03-26 and later as literals of its bundle. That of 2024-11-05 is made of the next one by taking out what that one added.
//
//   node official.mjs BUNDLE DIRECTORY
//
// In those of 2025-06-18 and 2025-11-25 the numbers in NumberSchema were integers, which has been mended since.
//
// Each schema must have the hash that stands here, descriptions apart. Exits with 1, without a file, if one has not.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";

// Of modelcontextprotocol/modelcontextprotocol, schema/REVISION/schema.json: SHA-256 of the JSON text with sorted keys, without white space and descriptions.
// That of 2026-07-28 is of the day of the suite, before SubscriptionsListenResultMeta was renamed.
const HASHES = {
  "2024-11-05": "32479960b553f8ac9263c12dcc1d5b5cf264b354437bfedf1cbcd98e1c88e952",
  "2025-03-26": "9ad7ee34400db4c18418252bd10a8f9151035f039ce87d607459c35f702f9535",
  "2025-06-18": "4dcc12216813c991ba77c24be25e27cb8bc321c4b1de96ce9b6eb07224ad455a",
  "2025-11-25": "f09386cd771b71505dff1f0a02041f5f65fdc679b5412fd6df6d11cbb2221e0c",
  "2026-07-28": "55e7932616e4c71946c98468005b15ebc9528fea0b8d2a013c568d6866b94c8b",
};

const [bundle, directory] = process.argv.slice(2);

function canonical(value) {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== "object") return value;
  // A property of that name is a schema, not a text.
  const keys = Object.keys(value).filter((key) => key !== "description" || typeof value[key] !== "string");
  return Object.fromEntries(keys.sort().map((key) => [key, canonical(value[key])]));
}

const hash = (schema) => createHash("sha256").update(JSON.stringify(canonical(schema))).digest("hex");

function* literals(text) {
  for (const { index } of text.matchAll(/\{\$schema:`https?:\/\/json-schema\.org\/[^`]*`,(?:\$defs|definitions):/g)) {
    let depth = 0;
    let end = index;
    // Strings of the bundle are template literals.
    for (let quoted = false; ; end += 1) {
      if (end === text.length) throw new Error(`${bundle}: the literal at ${index} does not end`);
      if (quoted && text[end] === "\\") end += 1;
      else if (text[end] === "`") quoted = !quoted;
      else if (!quoted && text[end] === "{") depth += 1;
      else if (!quoted && text[end] === "}" && (depth -= 1) === 0) break;
    }
    yield JSON.parse(JSON.stringify(runInNewContext(`(${text.slice(index, end + 1)})`)));
  }
}

// What 2025-03-26 added: annotations as a type, of tools too, audio, batches, completions as a capability, messages of progress.
function first(schema) {
  const { definitions } = structuredClone(schema);
  const annotations = definitions.Annotations;
  delete annotations.description;
  for (const name of ["EmbeddedResource", "ImageContent", "Resource", "ResourceTemplate", "TextContent"]) {
    definitions[name].properties.annotations = annotations;
  }
  definitions.Annotated = { properties: { annotations }, type: "object" };
  for (const name of ["Annotations", "AudioContent", "JSONRPCBatchRequest", "JSONRPCBatchResponse", "ToolAnnotations"]) delete definitions[name];
  const isOld = ({ $ref, type }) => $ref !== "#/definitions/AudioContent" && type !== "array";
  for (const one of [
    definitions.CallToolResult.properties.content.items,
    definitions.CreateMessageResult.properties.content,
    definitions.JSONRPCMessage,
    definitions.PromptMessage.properties.content,
    definitions.SamplingMessage.properties.content,
  ]) {
    one.anyOf = one.anyOf.filter(isOld);
  }
  delete definitions.ProgressNotification.properties.params.properties.message;
  delete definitions.ServerCapabilities.properties.completions;
  delete definitions.Tool.properties.annotations;
  return { ...schema, definitions };
}

function mended(schema) {
  for (const member of Object.values((schema.$defs ?? schema.definitions).NumberSchema?.properties ?? {})) {
    if (member.type === "integer") member.type = "number";
  }
  return schema;
}

const found = [...literals(readFileSync(bundle, "utf8"))].map(mended);
found.push(...found.filter((schema) => hash(schema) === HASHES["2025-03-26"]).map(first));
const files = Object.entries(HASHES).map(([revision, wanted]) => [revision, found.find((schema) => hash(schema) === wanted)]);
const missing = files.filter(([, schema]) => !schema).map(([revision]) => revision);
if (missing.length > 0) {
  console.error(`${bundle} does not have the official schemas of ${missing.join(", ")}. It has those with the hashes`);
  for (const schema of found) console.error(`  ${hash(schema)}`);
  process.exit(1);
}
mkdirSync(directory, { recursive: true });
for (const [revision, schema] of files) writeFileSync(join(directory, `${revision}.json`), JSON.stringify(schema));
