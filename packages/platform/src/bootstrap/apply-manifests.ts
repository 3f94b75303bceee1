// Applies the manifests of --bootstrap-dir with server-side apply, and reports fields that others have changed (ADR 38).

import type { PlatformNames } from "@postern/api/platform-names";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { withoutFields } from "@postern/structured-merge/managedfields/without-fields";
import type { InternalAnswer, InternalApi } from "./internal-api.ts";
import { type KeyFiles, keyFileName } from "./key-files.ts";
import type { ManifestState } from "./manifest-metrics.ts";
import { type Manifest, manifestError } from "./manifests.ts";

/** Field manager of the manifests. */
export const BOOTSTRAP_MANAGER = "postern-bootstrap";

/** The field manager of everything that only the server itself has written: no user has decided otherwise. */
const SERVER_ITSELF = "before-first-apply";

/** Kinds that others depend on come first; of one rank, the order of the files counts. */
const FIRST_KINDS = ["Namespace", "CustomResourceDefinition", "ClusterRole", "User", "Team", "Project"];
const KEY_KINDS = ["OwnedAccessKey", "AccessKey"];
const OWNERS = ["user", "team", "subject"];

export type ApplyManifestsDeps = {
  readonly directory: string;
  readonly manifests: readonly Manifest[];
  /** Takes fields over from the managers that changed them. */
  readonly overwrites: boolean;
  readonly api: InternalApi;
  readonly names: Pick<PlatformNames, "managementGroup" | "key">;
  readonly registry: Pick<ResourceRegistry, "findKind">;
  readonly keyFiles: KeyFiles;
  readonly recordEvent: EventRecorder;
  readonly logger: Logger;
  /** Called once for each manifest. */
  readonly onApplied: (state: ManifestState) => void;
};

type Planned = Manifest & { readonly resource: InstalledResource; readonly path: string };

/** Throws ConfigurationError that names every manifest which cannot be applied; those that can are applied all the same. */
export async function applyManifests(deps: ApplyManifestsDeps): Promise<void> {
  const { directory, onApplied } = deps;
  const faults: string[] = [];
  for (const planned of plan(deps)) {
    try {
      onApplied(await applyOne(planned, deps));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      faults.push(`${planned.place}: ${error.message}`);
    }
  }
  if (faults.length > 0) throw manifestError(directory, faults);
}

class Refused extends Error {
  override readonly name = "Refused";
}

/** In the order in which they can be applied. Throws before anything is written where it is plain that one cannot. */
function plan({ directory, manifests, registry, names }: ApplyManifestsDeps): readonly Planned[] {
  const faults: string[] = [];
  const places = new Map<string, string>();
  const planned = manifests.flatMap((manifest) => {
    const { place, object } = manifest;
    const found = target(object, registry);
    const fault = "fault" in found ? found.fault : faultOfKey(object, names);
    if (fault !== undefined) faults.push(`${place}: ${fault}`);
    if ("fault" in found) return [];
    const earlier = places.get(found.path);
    if (earlier !== undefined) faults.push(`${place}: metadata.name: the same object is in ${earlier}`);
    places.set(found.path, place);
    return [{ ...manifest, ...found }];
  });
  if (faults.length > 0) throw manifestError(directory, faults);
  return planned.sort((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ resource: { definition } }: Planned): number {
  const first = FIRST_KINDS.indexOf(definition.kind);
  if (first >= 0) return first;
  const isKey = KEY_KINDS.includes(definition.kind);
  return FIRST_KINDS.length + (isKey ? 2 : definition.namespaced ? 1 : 0);
}

function target(
  { apiVersion, kind, metadata }: KubeObject,
  registry: Pick<ResourceRegistry, "findKind">,
): { readonly fault: string } | Pick<Planned, "resource" | "path"> {
  const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: "" };
  const resource = registry.findKind(group, kind);
  if (resource === undefined) return { fault: `kind: ${kind} of ${apiVersion} is not served` };
  const { definition } = resource;
  if (definition.version !== version) return { fault: `apiVersion: ${kind} is served in ${definition.version}` };
  if (definition.submit !== undefined || (definition.verbs !== undefined && !definition.verbs.includes("patch"))) {
    return { fault: `kind: ${kind} cannot be applied` };
  }
  const { name = "", namespace = "" } = metadata;
  if (definition.namespaced && namespace === "") return { fault: "metadata.namespace: required" };
  if (!definition.namespaced && namespace !== "") return { fault: `metadata.namespace: ${kind} is cluster-scoped` };
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const inside = definition.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return { resource, path: `${base}${inside}/${definition.plural}/${encodeURIComponent(name)}` };
}

/** A manifest has no caller to whom a key without an owner would belong. */
function faultOfKey(object: KubeObject, names: ApplyManifestsDeps["names"]): string | undefined {
  if (!KEY_KINDS.includes(object.kind)) return undefined;
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  if (!OWNERS.some((owner) => typeof spec[owner] === "string" && spec[owner] !== "")) {
    return "spec.user: required, or spec.team or spec.subject: a key in a manifest must name its owner";
  }
  const file = keyFileName(object, names);
  if (file === undefined) return undefined;
  if ("fault" in file) return file.fault;
  return typeof spec["key"] === "string" && spec["key"] !== ""
    ? "spec.key: must be unset: the server generates values that it writes to a file"
    : undefined;
}

async function applyOne(planned: Planned, deps: ApplyManifestsDeps): Promise<ManifestState> {
  const { object, path, place } = planned;
  const { api, names, keyFiles, logger, recordEvent } = deps;
  const before = await api.get(path);
  const isNew = before.status === 404;
  if (!isNew && before.status !== 200) throw new Refused(messageOf(before));
  const file = keyFileName(object, names);
  const fileName = file !== undefined && "name" in file ? file.name : undefined;
  const value = fileName !== undefined && isNew ? await keyFiles.begin(fileName) : undefined;
  const withValue = value === undefined ? object : { ...object, spec: { ...specOf(object), key: value } };
  const finish = async (): Promise<void> => {
    if (fileName !== undefined) await keyFiles.finish(fileName, object.metadata.name ?? "");
  };
  const { answer, conflicts } = await applyShared(planned, withValue, deps).catch(async (error: unknown) => {
    if (error instanceof Refused) await finish();
    throw error;
  });
  await finish();

  const about = { component: "bootstrap", resource: planned.resource.definition.plural, ...nameOf(object) };
  for (const warning of answer.warnings)
    logger.warn({ ...about, cause: warning }, `${place}: the API returned a warning`);
  if (conflicts.length > 0) {
    const fields = conflicts.map(({ field, message }) => `${field} (${message})`).join(", ");
    const outcome = deps.overwrites ? "they were reset" : "the changes are kept";
    logger.warn({ ...about, cause: fields }, `${place}: fields have been changed by others; ${outcome}`);
    const { apiVersion, kind, metadata } = answer.body as KubeObject; // the API answers an apply with an object
    const { name = "", namespace, uid = "" } = metadata;
    recordEvent({
      involvedObject: { apiVersion, kind, name, uid, ...(namespace === undefined ? {} : { namespace }) },
      type: "Warning",
      reason: "BootstrapDrift",
      message: `Fields of the bootstrap manifest ${place} have been changed by others; ${outcome}: ${fields}`,
    });
    if (!deps.overwrites) return "drifted";
  }
  if (isNew) logger.info(about, `${place}: created`);
  if (isNew) return "created";
  if (versionOf(before) === versionOf(answer)) return "unchanged";
  logger.info(about, `${place}: changed`);
  return "changed";
}

type FieldConflict = { readonly field: string; readonly message: string };

/** The manifest without the fields that other managers have changed, unless the options say otherwise. */
async function applyShared(
  { path, resource }: Planned,
  object: KubeObject,
  { api, overwrites }: ApplyManifestsDeps,
): Promise<{ readonly answer: InternalAnswer; readonly conflicts: readonly FieldConflict[] }> {
  const query = { fieldManager: BOOTSTRAP_MANAGER };
  const first = await api.apply(path, query, object);
  const all = conflictsOf(first);
  if (all.length === 0) return { answer: accepted(first), conflicts: [] };
  const conflicts = all.filter(({ message }) => !message.includes(JSON.stringify(SERVER_ITSELF)));
  const left = overwrites
    ? object
    : withoutFields(object, new Set(conflicts.map(({ field }) => field)), resource.definition.schema);
  // The remaining conflicts are only with the server itself.
  const isForced = overwrites || conflicts.length < all.length;
  const second = await api.apply(path, isForced ? { ...query, force: "true" } : query, left);
  return { answer: accepted(second), conflicts };
}

function accepted(answer: InternalAnswer): InternalAnswer {
  if (answer.status === 200 || answer.status === 201) return answer;
  throw new Refused(messageOf(answer));
}

function conflictsOf({ status, body }: InternalAnswer): readonly FieldConflict[] {
  const details = body["details"];
  const causes = status === 409 && isJsonObject(details) ? details["causes"] : undefined;
  return (isJsonArray(causes) ? causes : []).flatMap((cause) =>
    isJsonObject(cause) && cause["reason"] === "FieldManagerConflict"
      ? [{ field: textOf(cause["field"]), message: textOf(cause["message"]) }]
      : [],
  );
}

const messageOf = ({ status, body }: InternalAnswer): string => textOf(body["message"]) || `answered with ${status}`;

const specOf = (object: KubeObject): JsonObject => (isJsonObject(object["spec"]) ? object["spec"] : {});

const nameOf = ({ metadata: { name = "", namespace } }: KubeObject) =>
  namespace === undefined ? { name } : { name, namespace };

function versionOf({ body }: InternalAnswer): string {
  const metadata = body["metadata"];
  return isJsonObject(metadata) ? textOf(metadata["resourceVersion"]) : "";
}
