// Records what a kube-apiserver answers to the requests of packages/kubernetes/src/builtin/testdata/answers-1.36: `tsx tools/record-answers.ts URL
// TOKEN CA_FILE [NAME.json ...]`. The server must have none of the objects. New requests are written into a file without a `response`.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request as send } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import {
  answerOf,
  type RecordedRequest,
  type RecordedStep,
} from "../packages/kubernetes/src/testing/recorded-answers.ts";

const [url, token, caFile, ...named] = process.argv.slice(2);
if (url === undefined || token === undefined || caFile === undefined) {
  throw new Error("usage: tsx tools/record-answers.ts URL TOKEN CA_FILE [NAME.json ...]");
}
const directory = new URL("../packages/kubernetes/src/builtin/testdata/answers-1.36/", import.meta.url);
const agent = new Agent({ keepAlive: true, ca: readFileSync(caFile) });
/** Definitions are served, and policies are known, a moment after they are written. */
const SERVED_MS = 4_000;

const ask = ({ method, path, json, contentType = "application/json" }: RecordedRequest) =>
  new Promise<RecordedStep["response"]>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      ...(json === undefined ? {} : { "content-type": contentType }),
    };
    const asked = send(`${url}${path}`, { method, agent, headers }, async (answer) => {
      let text = "";
      for await (const chunk of answer) text += chunk;
      resolve(answerOf(answer.statusCode ?? 0, text.startsWith("{") ? JSON.parse(text) : text));
    });
    asked.on("error", reject);
    asked.end(json === undefined ? undefined : JSON.stringify(json));
  });

for (const file of readdirSync(directory).filter((name) => name.endsWith(".json"))) {
  if (named.length > 0 && !named.includes(file)) continue;
  const steps: readonly RecordedStep[] = JSON.parse(readFileSync(new URL(file, directory), "utf8"));
  const lines: string[] = [];
  for (const { response: _, ...step } of steps) {
    const answer = await ask(step);
    lines.push(JSON.stringify({ ...step, response: step.onlyStatus === true ? { status: answer.status } : answer }));
    if (/customresourcedefinitions|policybindings$/.test(step.path) && !step.path.includes("dryRun"))
      await delay(SERVED_MS);
  }
  writeFileSync(new URL(file, directory), `[\n${lines.join(",\n")}\n]\n`);
}
agent.destroy();
