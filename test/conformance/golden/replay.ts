// Replays a recorded scenario against a server and says where its answers differ.

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { type Answer, type ConformanceClient, eventsOf } from "../testing/conformance-client.ts";
import { compareValues, type Difference } from "./compare.ts";
import { Placeholders } from "./placeholders.ts";
import type { Exchange, RecordedRequest, RecordedResponse, Scenario, Step } from "./transcript.ts";

export type StepResult = {
  /** Such as `watch-01#9`, with a letter behind it for requests made during a watch. */
  readonly id: string;
  readonly what: string;
  readonly differences: readonly Difference[];
};

/** For watches that end when all recorded events have come, not when the time is up. */
const LONG_WATCH_SECONDS = 60;

const KNOWN_USERS = new Set(["admin", "alice", "bob"]);

export async function replayScenario(
  { id, steps }: Scenario,
  client: ConformanceClient,
): Promise<readonly StepResult[]> {
  const placeholders = new Placeholders();
  const results: StepResult[] = [];
  const report = (name: string, { request, note = "" }: Step, differences: readonly Difference[]): void => {
    results.push({ id: name, what: `${request.method} ${request.path} ${note}`.trim(), differences });
  };
  const replayWatch = async (name: string, step: Step): Promise<readonly Difference[]> => {
    const { concurrent = [], request, response } = step;
    const watch = await client.open(requestOf(request, placeholders, concurrent.length === 0 ? 1 : LONG_WATCH_SECONDS));
    if (concurrent.length === 0) return compareFrames(response, await watch.finished, placeholders);
    for (const [index, exchange] of concurrent.entries()) {
      const answer = await send(exchange.request, client, placeholders);
      report(`${name}${"abcdefgh"[index]}`, exchange, compareAnswer(exchange, answer, placeholders));
    }
    await watch.lines(response.frames?.length ?? 0);
    watch.close();
    return compareFrames(response, await watch.finished, placeholders);
  };
  for (const [index, step] of steps.entries()) {
    const name = `${id}#${index}`;
    if (step.response.frames === undefined) {
      const answer = await send(step.request, client, placeholders);
      report(name, step, compareAnswer(step, answer, placeholders));
      continue;
    }
    report(name, step, await replayWatch(name, step));
  }
  return results;
}

/** Where something is watched while nothing happens, the recorded seconds only make the replay longer. */
function requestOf(recorded: RecordedRequest, placeholders: Placeholders, watchSeconds = 1) {
  const headers = Object.fromEntries(
    Object.entries(recorded.headers).map(([name, value]) => [name, placeholders.substitute(value)]),
  );
  const { user } = recorded;
  if (user !== null) headers["Authorization"] = `Bearer ${KNOWN_USERS.has(user) ? `${user}-token` : user}`;
  const path = placeholders.substitute(recorded.path).replace("timeoutSeconds=2", `timeoutSeconds=${watchSeconds}`);
  return { method: recorded.method, path, headers, body: bodyOf(recorded, placeholders) };
}

function bodyOf({ json, text, bytes_base64 }: RecordedRequest, placeholders: Placeholders): Buffer | undefined {
  if (json !== undefined) return Buffer.from(placeholders.substitute(JSON.stringify(json)));
  if (text !== undefined) return Buffer.from(placeholders.substitute(text));
  return bytes_base64 === undefined ? undefined : Buffer.from(bytes_base64, "base64");
}

async function send(recorded: RecordedRequest, client: ConformanceClient, placeholders: Placeholders): Promise<Answer> {
  const answer = await client.send(requestOf(recorded, placeholders));
  const etag = answer.headers["etag"];
  if (etag !== undefined) placeholders.etag = etag;
  placeholders.time = /"creationTimestamp":\s*"([^"]+)"/.exec(answer.text)?.[1] ?? placeholders.time;
  return answer;
}

function compareAnswer(step: Step | Exchange, answer: Answer, placeholders: Placeholders): readonly Difference[] {
  const { response } = step;
  const isShape = "compare" in step && step.compare === "shape";
  const { status, headers } = response;
  const differences: Difference[] = [];
  if (status !== answer.status) differences.push({ level: 1, path: "status", recorded: status, actual: answer.status });
  if (response.json !== undefined) {
    differences.push(...compareJson(response.json, answer.json, isShape, placeholders));
  } else if (response.text !== undefined && !isShape && mediaType(headers["content-type"]) === "text/plain") {
    differences.push(...compareValues(response.text, answer.text, placeholders, "text", 3));
  }
  const recordedType = mediaType(headers["content-type"]);
  const actualType = mediaType(answer.headers["content-type"]);
  if (recordedType !== "" && recordedType !== actualType) {
    differences.push({ level: 2, path: "content-type", recorded: recordedType, actual: actualType });
  }
  const warnings = [headers["warning"] ?? []].flat();
  return [...differences, ...compareValues([...warnings], [...answer.warnings], placeholders, "warnings", 3)];
}

function compareJson(
  recorded: JsonValue,
  actual: JsonValue | undefined,
  isShape: boolean,
  placeholders: Placeholders,
): readonly Difference[] {
  if (!isShape) return compareValues(recorded, actual, placeholders);
  const kindOf = (value: JsonValue | undefined) => (value as JsonObject | undefined)?.["kind"];
  return compareValues(kindOf(recorded), kindOf(actual), placeholders, "kind");
}

function compareFrames(
  { status, frames = [] }: RecordedResponse,
  answer: Answer,
  placeholders: Placeholders,
): readonly Difference[] {
  const differences = compareValues([...frames], [...eventsOf(answer)], placeholders, "frames");
  if (status === answer.status) return differences;
  return [{ level: 1, path: "status", recorded: status, actual: answer.status }, ...differences];
}

const mediaType = (header: string | readonly string[] | undefined): string =>
  ([header ?? ""].flat()[0] ?? "").split(";")[0] ?? "";
