// Records what a kube-apiserver answers to the requests of packages/kubernetes/src/builtin/testdata/answers-1.36: `tsx tools/record-answers.ts URL
// TOKEN CA_FILE [NAME.json ...]`. The server must have none of the objects. New requests are written into a file without a `response`.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request as send } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { comparedOf, type RecordedStep } from "../packages/kubernetes/src/testing/recorded-answers.ts";

const [url, token, caFile, ...named] = process.argv.slice(2);
if (url === undefined || token === undefined || caFile === undefined) {
  throw new Error("usage: tsx tools/record-answers.ts URL TOKEN CA_FILE [NAME.json ...]");
}
const directory = new URL("../packages/kubernetes/src/builtin/testdata/answers-1.36/", import.meta.url);
const agent = new Agent({ keepAlive: true, ca: readFileSync(caFile) });
/** Definitions are served, and policies are known, a moment after they are written. */
const SERVED_MS = 4_000;

/** `299 - "text"`, with quotes in the text behind a backslash. */
const warningsOf = (header: readonly string[] = []): readonly string[] =>
  header.flatMap((values) =>
    [...values.matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => text.replaceAll(/\\(.)/g, "$1")),
  );

const ask = ({ method, path, json, contentType = "application/json", ...step }: Omit<RecordedStep, "response">) =>
  new Promise<RecordedStep["response"]>((resolve, reject) => {
    const text = json === undefined ? undefined : JSON.stringify(json);
    const headers = {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      // Node sends the body of a DELETE without a length of its own.
      ...(text === undefined ? {} : { "content-type": contentType, "content-length": Buffer.byteLength(text) }),
    };
    const asked = send(`${url}${path}`, { method, agent, headers }, async (answer) => {
      let received = "";
      for await (const chunk of answer) received += chunk;
      const warnings = warningsOf(answer.headersDistinct["warning"]);
      const body = received.startsWith("{") ? JSON.parse(received) : received;
      resolve(comparedOf(step, { status: answer.statusCode ?? 0, json: body, warnings }));
    });
    asked.on("error", reject);
    asked.end(text);
  });

for (const file of readdirSync(directory).filter((name) => name.endsWith(".json"))) {
  if (named.length > 0 && !named.includes(file)) continue;
  const steps: readonly RecordedStep[] = JSON.parse(readFileSync(new URL(file, directory), "utf8"));
  const lines: string[] = [];
  for (const { response: _, ...step } of steps) {
    const answer = await ask(step);
    lines.push(JSON.stringify({ ...step, response: answer }));
    if (/customresourcedefinitions|policybindings$|\/nodes(\/|\?|$)/.test(step.path) && !step.path.includes("dryRun"))
      await delay(SERVED_MS);
  }
  writeFileSync(new URL(file, directory), `[\n${lines.join(",\n")}\n]\n`);
}
agent.destroy();
