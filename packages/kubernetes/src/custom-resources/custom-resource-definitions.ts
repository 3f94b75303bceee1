// The resource customresourcedefinitions. Its controller serves the defined resources.
// Source: k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/{strategy,etcd}.go, pkg/apis/apiextensions/v1/defaults.go

import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { defineBuiltin } from "../builtin/builtin-resource.ts";
import type { CompiledDefinitions } from "./compiled-definitions.ts";
import { CLEANUP_FINALIZER, type CustomResourceDefinition, withCondition } from "./custom-resource-definition.ts";
import { definitionsResource, noCustomResourceDefinitions } from "./no-custom-resource-definitions.ts";
import { formatWarnings } from "./unrecognized-formats.ts";
import {
  validateDefinitionUpdate,
  validateNewDefinition,
  validateStoredVersions,
} from "./validate-custom-resource-definition.ts";
import { validateWebhookAccess } from "./webhook-access.ts";

const strategyFor = (compiled: CompiledDefinitions): Strategy<CustomResourceDefinition> => ({
  prepareForCreate: (definition) => withStorageVersion({ ...definition, status: {} }),
  validate: async (definition, context) => [
    ...(await context.inParts(validateNewDefinition(definition, compiled))),
    ...(await validateWebhookAccess(definition, undefined, context)),
  ],

  prepareForUpdate: (definition, old, { info }) =>
    info.subresource === "status"
      ? definition
      : withStorageVersion({ ...definition, ...(old.status === undefined ? {} : { status: old.status }) }),
  validateUpdate: async (definition, old, context) =>
    context.info.subresource === "status"
      ? validateStoredVersions(definition)
      : [
          ...(await context.inParts(validateDefinitionUpdate(definition, old, compiled))),
          ...(await validateWebhookAccess(definition, old, context)),
        ],

  warningsOnCreate: (definition) => formatWarnings(definition),
  warningsOnUpdate: (definition, old, { info }) =>
    info.subresource === "status" ? [] : formatWarnings(definition, old),

  /** The controller removes it when all objects are deleted. */
  prepareForDelete(definition, { receivedAt }) {
    if (isBeingDeleted(definition)) return definition;
    const finalizers = definition.metadata.finalizers ?? [];
    const held = finalizers.includes(CLEANUP_FINALIZER) ? finalizers : [...finalizers, CLEANUP_FINALIZER];
    return withCondition(
      { ...definition, metadata: { ...definition.metadata, finalizers: held } },
      {
        type: "Terminating",
        status: "True",
        reason: "InstanceDeletionPending",
        message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
      },
      formatTimestamp(receivedAt),
    );
  },
});

/** `compiled` is shared with their controller. Without it, none can be created. */
export const customResourceDefinitions = (compiled: CompiledDefinitions | undefined): ResourceDefinition =>
  compiled === undefined ? noCustomResourceDefinitions : storedDefinitions(compiled);

const storedDefinitions = (compiled: CompiledDefinitions): ResourceDefinition =>
  defineBuiltin({
    ...definitionsResource,
    tracksGeneration: true,
    hasStatus: true,
    strategy: strategyFor(compiled),
    setDefaults: withDefaults,
  });

/** Sets default names, the flags of versions, the conversion None, and the default port of a webhook's Service. */
function withDefaults(body: KubeObject): KubeObject {
  const object = withConditions(body);
  const spec = object["spec"];
  if (!isJsonObject(spec) || !isJsonObject(spec["names"])) return object;
  const names = spec["names"];
  const kind = typeof names["kind"] === "string" ? names["kind"] : "";
  const { singular, listKind } = names;
  return {
    ...object,
    spec: {
      ...spec,
      names: {
        ...names,
        ...(singular === undefined || singular === "" ? { singular: kind.toLowerCase() } : {}),
        ...((listKind === undefined || listKind === "") && kind !== "" ? { listKind: `${kind}List` } : {}),
      },
      conversion: withPort(spec["conversion"]) ?? { strategy: "None" },
      ...(isJsonArray(spec["versions"]) ? { versions: spec["versions"].map(withFlags) } : {}),
    },
  };
}

/** Type and status are plain texts upstream: absent means empty. */
function withConditions(object: KubeObject): KubeObject {
  const status = object["status"];
  if (!isJsonObject(status) || !isJsonArray(status["conditions"])) return object;
  const conditions = status["conditions"].map((condition) =>
    isJsonObject(condition) ? { type: "", status: "", ...condition } : condition,
  );
  return { ...object, status: { ...status, conditions } };
}

/** Both are plain booleans upstream: absent means false. */
const withFlags = (version: JsonValue): JsonValue =>
  isJsonObject(version)
    ? { ...version, served: version["served"] ?? false, storage: version["storage"] ?? false }
    : version;

/** Sets the default port of a webhook's Service. */
function withPort(conversion: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(conversion) || !isJsonObject(conversion["webhook"])) return conversion;
  const { webhook } = conversion;
  const client = webhook["clientConfig"];
  if (!isJsonObject(client) || !isJsonObject(client["service"])) return conversion;
  const service = { ...client["service"], port: client["service"]["port"] ?? 443 };
  return { ...conversion, webhook: { ...webhook, clientConfig: { ...client, service } } };
}

/** Records the storage version before the first object is stored in it. */
function withStorageVersion(definition: CustomResourceDefinition): CustomResourceDefinition {
  const storage = definition.spec.versions.find((version) => version.storage)?.name;
  const stored = definition.status?.storedVersions ?? [];
  if (storage === undefined || stored.includes(storage)) return definition;
  return { ...definition, status: { ...definition.status, storedVersions: [...stored, storage] } };
}
