// Applies the manifests of `spec.template.objects` in an embedded cluster, by server-side apply (ADR 70).

import { createHash } from "node:crypto";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { splitYaml } from "@postern/apimachinery/yaml/split-yaml";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import { RequestContext } from "@postern/apiserver/context/request-context";
import { createSystemContext } from "@postern/apiserver/context/system-context";
import { createLongWork, WorkParts } from "@postern/apiserver/limits/long-work";
import type { WorkThreads } from "@postern/apiserver/limits/work-threads";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { sharedTurnOf } from "@postern/apiserver/runtime/shared-turn";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { startWorkThreads } from "@postern/kubernetes/server/start-work-threads";
import { ownRequest } from "../../../foundation/http/own-request.ts";

/** The field manager. */
const MANAGER = "template";
/** Kinds that others depend on come first. */
const FIRST_KINDS = ["CustomResourceDefinition", "Namespace"];
/** A CustomResourceDefinition is served a moment after it is written. */
const ATTEMPTS = 5;

export class ObjectsError extends Error {
  override readonly name = "ObjectsError";
}

/** Hash of a text, in 16 hexadecimal digits. */
export const hashOfObjects = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** Longer texts are parsed in a thread: a template may have hundreds of kilobytes, which take a second. */
const LONG_DOCUMENT = 4 * 1024;

/** The objects of a text of YAML documents, with those of Lists. Throws ObjectsError that names the document. */
async function readObjects(
  text: string,
  { threads, clock }: TargetWithThreads,
  signal: AbortSignal,
): Promise<readonly JsonObject[]> {
  // Templates of many clusters may be read at the same time.
  const turn = sharedTurnOf(clock);
  const objects: JsonObject[] = [];
  for (const { text: document, line } of splitYaml(text)) {
    await turn.next();
    signal.throwIfAborted();
    objects.push(...itemsOf(await readDocument(document, line, threads, signal), line));
  }
  return objects;
}

async function readDocument(text: string, line: number, threads: WorkThreads, signal: AbortSignal): Promise<JsonValue> {
  if (text.length > LONG_DOCUMENT) {
    const read = await threads.run({ lane: MANAGER, client: MANAGER }, "decodeYaml", { text }, signal);
    if ("fault" in read) throw new ObjectsError(`line ${line}: ${read.fault}`);
    return parseJson(read.json);
  }
  try {
    return decodeYaml(text).value;
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new ObjectsError(`line ${line}: ${error.message}`);
  }
}

function itemsOf(value: JsonValue, line: number): readonly JsonObject[] {
  if (!isJsonObject(value)) throw new ObjectsError(`line ${line}: not an object`);
  const { kind, items } = value;
  if (typeof kind === "string" && kind.endsWith("List") && isJsonArray(items))
    return items.flatMap((item) => itemsOf(item, line));
  const { metadata, apiVersion } = value;
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string" || name === "") {
    throw new ObjectsError(`line ${line}: apiVersion, kind and metadata.name are required`);
  }
  return [value];
}

export type ObjectsTarget = {
  readonly registry: Pick<ResourceRegistry, "find" | "resources">;
  readonly route: (context: RequestContext) => Promise<ApiResponse> | ApiResponse;
  readonly idle: () => Promise<void>;
  readonly clock: Runtime["clock"];
};

/** Applies all of them, and retries failed ones after the rest. Throws ObjectsError that names objects that could not be applied. */
export async function applyObjects(text: string, target: ObjectsTarget, signal: AbortSignal): Promise<void> {
  const ended = new AbortController();
  try {
    await applyAll(text, { ...target, threads: startWorkThreads(ended.signal) }, signal);
  } finally {
    ended.abort();
  }
}

type TargetWithThreads = ObjectsTarget & { readonly threads: WorkThreads };

async function applyAll(text: string, target: TargetWithThreads, signal: AbortSignal): Promise<void> {
  const rank = ({ kind }: JsonObject): number => (FIRST_KINDS.includes(String(kind)) ? 0 : 1);
  const objects = await readObjects(text, target, signal);
  const turn = sharedTurnOf(target.clock);
  let left: readonly JsonObject[] = objects.toSorted((a, b) => rank(a) - rank(b));
  let faults: string[] = [];
  for (let attempt = 0; attempt < ATTEMPTS && left.length > 0; attempt++) {
    faults = [];
    const failed: JsonObject[] = [];
    for (const object of left) {
      await turn.next();
      signal.throwIfAborted();
      const fault = await applyOne(object, target, signal);
      if (fault === undefined) continue;
      failed.push(object);
      faults.push(fault);
    }
    left = failed;
    await target.idle();
  }
  if (faults.length > 0) throw new ObjectsError(faults.slice(0, 5).join("; "));
}

/** Undefined if it was applied; otherwise the reason why not. */
async function applyOne(
  object: JsonObject,
  target: TargetWithThreads,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { group, version } = parseApiVersion(String(object["apiVersion"])) ?? { group: "", version: "" };
  const kind = String(object["kind"]);
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const name = String(metadata["name"]);
  const resource = target.registry.resources.find(
    ({ definition }) => definition.group === group && definition.version === version && definition.kind === kind,
  );
  if (resource === undefined) return `no matches for kind "${kind}" in version "${String(object["apiVersion"])}"`;
  const { plural, namespaced } = resource.definition;
  const namespace = typeof metadata["namespace"] === "string" ? metadata["namespace"] : "default";
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const path = `${root}${namespaced ? `/namespaces/${namespace}` : ""}/${plural}/${name}`;
  try {
    const response = await target.route(applyContext(path, stringifyJson(object), target, signal));
    if (response.status < 300) return undefined;
    const body = response.body.type === "bytes" ? parseJson(Buffer.from(response.body.bytes)) : {};
    return `${kind} ${name}: ${isJsonObject(body) ? String(body["message"]) : response.status}`;
  } catch (error) {
    if (!isApiError(error)) throw error;
    return `${kind} ${name}: ${error.message}`;
  }
}

function applyContext(
  path: string,
  body: string,
  { clock, threads }: Pick<TargetWithThreads, "clock" | "threads">,
  signal: AbortSignal,
): RequestContext {
  const query = new URLSearchParams({ fieldManager: MANAGER, force: "true" });
  const system = createSystemContext({}, { clock, signal });
  return new RequestContext({
    request: ownRequest({
      method: "PATCH",
      path,
      query,
      headers: {},
      contentType: "application/apply-patch+yaml",
      text: body,
      from: "",
      signal,
    }),
    info: resolveRequestInfo("PATCH", path, query),
    user: system.user,
    warnings: { texts: [], add: () => {} },
    audit: system.audit,
    // Tenants write templates: large objects must not block others.
    work: new WorkParts(createLongWork(clock, threads)),
    receivedAt: clock.now(),
  });
}
