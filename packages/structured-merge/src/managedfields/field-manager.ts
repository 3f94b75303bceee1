// The field manager, which a server calls on every write of one kind: metadata.managedFields has the owner of each field.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/fieldmanager.go and the managers it chains

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatApiVersion, type GroupVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import { fieldSetOf } from "../fieldpath/field-set.ts";
import { fieldPath } from "../fieldpath/path-element.ts";
import { objectSchemaFrom } from "../typed/schema-from-structural.ts";
import { applyConfiguration } from "./apply-configuration.ts";
import type { FieldManagerApply, FieldManagerCore, FieldManagerUpdate } from "./field-manager-core.ts";
import { createMergeUpdater, type MergeUpdater } from "./merge-updater.ts";
import { trackedFields } from "./untracked-fields.ts";
import { updateManagedFields } from "./update-managed-fields.ts";

export type FieldManagerOptions = {
  /** Schema of the whole object. Without one, maps are granular and lists atomic. */
  readonly schema: StructuralSchema | undefined;
  readonly groupVersion: GroupVersion;
  /** True when status is written through its own subresource. Default false. */
  readonly hasStatus?: boolean;
  /** Fields without owners, such as `["spec", "key"]`, with everything below them. */
  readonly untrackedPaths?: readonly (readonly string[])[];
  /**
   * Versions of the same kind whose fields have the same paths, such as `example.com/v1beta1`. Owners of others are dropped. Default none.
   */
  readonly otherVersions?: readonly string[];
  /**
   * The members of an object before anything is set, as kinds with a Go type have their spec and status: that it appears is not a
   * change that a manager could own. Default nothing.
   */
  readonly structs?: JsonObject;
};

export type FieldManager = {
  /** `next` with managedFields kept up, for every write but an apply. Never refuses: that is for validation to do. */
  update(input: FieldManagerUpdate): KubeObject;
  updateInSteps(input: FieldManagerUpdate): Steps<KubeObject>;
  /**
   * The live object with `applied` laid over it, and managedFields kept up.
   * @throws ApiError 400 when `applied` is of another version or has managedFields; 409 for conflicts; 500 without a
   * reason when `applied` does not fit the schema.
   */
  apply(input: FieldManagerApply): KubeObject;
  applyInSteps(input: FieldManagerApply): Steps<KubeObject>;
};

export function createFieldManager(options: FieldManagerOptions): FieldManager {
  // Built at the first write: most of the kinds that a server serves are never written.
  let coreOnce: FieldManagerCore | undefined;
  const core = (): FieldManagerCore => (coreOnce ??= createCore(options));
  return {
    update: (input) => runSteps(updateManagedFields(core(), input)),
    updateInSteps: (input) => updateManagedFields(core(), input),
    apply: (input) => runSteps(applyConfiguration(core(), input)),
    applyInSteps: (input) => applyConfiguration(core(), input),
  };
}

function createCore(options: FieldManagerOptions): FieldManagerCore {
  const { groupVersion, hasStatus = false } = options;
  const schema = objectSchemaFrom(options.schema);
  const apiVersion = formatApiVersion(groupVersion);
  const untracked = (options.untrackedPaths ?? []).map((names) => fieldPath(...names));
  const served = new Set([apiVersion, ...(options.otherVersions ?? [])]);
  const updaters = new Map<string, MergeUpdater>();

  const updaterFor = (subresource: string): MergeUpdater => {
    let updater = updaters.get(subresource);
    if (updater === undefined) {
      const track = trackedFields({ subresource, hasStatus, untracked });
      updater = createMergeUpdater({ schema, track, isServed: (version) => served.has(version) });
      updaters.set(subresource, updater);
    }
    return updater;
  };

  return {
    schema,
    apiVersion,
    updaterFor,
    untracked: fieldSetOf(...untracked),
    structs: options.structs ?? {},
  };
}
