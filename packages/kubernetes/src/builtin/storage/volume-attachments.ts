// VolumeAttachments: the volumes that a driver attaches to a node. They are stored, but have no effect.
// Source: k8s.io/kubernetes/pkg/registry/storage/volumeattachment/strategy.go, pkg/apis/storage/validation/validation.go (ValidateVolumeAttachment)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  requiredError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { subdomainFaults } from "../field-checks.ts";
import { publishedField } from "../published/published-field.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";
import { validateInlineVolumeSpec } from "../workloads/volumes/validate-claims.ts";

const volumeError = s.object({
  time: s.timestamp().nullable(),
  message: s.string(),
  errorCode: s.int32(),
});

const fields = s.object({
  spec: s.object({
    attacher: s.string(),
    source: s.object({
      persistentVolumeName: s.string(),
      inlineVolumeSpec: publishedField<JsonObject>("PersistentVolumeSpec"),
    }),
    nodeName: s.string(),
  }),
  status: s.object({
    attached: s.boolean(),
    attachmentMetadata: s.map(s.string()),
    attachError: volumeError,
    detachError: volumeError,
  }),
});

type VolumeAttachment = KindOf<typeof fields>;
type Source = NonNullable<NonNullable<VolumeAttachment["spec"]>["source"]>;
type Failure = NonNullable<NonNullable<VolumeAttachment["status"]>["attachError"]>;

const MAX_DRIVER_NAME = 63;
const MAX_METADATA = 256 * 1024;
const MAX_MESSAGE = 1024;

const ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";

const validate = ({ spec: { attacher = "", source = {}, nodeName = "" } = {} }: VolumeAttachment) => [
  ...(attacher === "" ? [requiredError("spec.attacher")] : []),
  ...(attacher.length > MAX_DRIVER_NAME ? [tooLongError("spec.attacher", MAX_DRIVER_NAME)] : []),
  ...(attacher === "" ? [] : subdomainFaults("spec.attacher", attacher.toLowerCase())),
  ...sourceFaults(source),
  ...subdomainFaults("spec.nodeName", nodeName),
  ...(source.persistentVolumeName === undefined
    ? []
    : subdomainFaults("spec.source.persistentVolumeName", source.persistentVolumeName)),
];

function sourceFaults({ persistentVolumeName: name, inlineVolumeSpec: inline }: Source): readonly FieldError[] {
  const path = "spec.source";
  if (name === undefined && inline === undefined) return [requiredError(path, ONE_SOURCE)];
  if (name !== undefined && inline !== undefined) return [forbiddenError(path, ONE_SOURCE)];
  if (inline !== undefined) return validateInlineVolumeSpec(inline, `${path}.inlineVolumeSpec`);
  return name === ""
    ? [requiredError(`${path}.persistentVolumeName`, "must specify non empty persistentVolumeName")]
    : [];
}

const validateChange = (next: VolumeAttachment, old: VolumeAttachment): readonly FieldError[] => {
  // Objects are JSON; only their named types hide it.
  const [is, was] = [next.spec as JsonValue, old.spec as JsonValue];
  return equalJson(is, was) ? [] : [invalidError("spec", is, "field is immutable")];
};

function validateStatus({ status: { attachmentMetadata = {}, attachError, detachError } = {} }: VolumeAttachment) {
  const size = Object.entries(attachmentMetadata).flat().join("").length;
  return [
    ...(size > MAX_METADATA ? [tooLongError("status.attachmentMetadata", MAX_METADATA)] : []),
    ...failureFaults("status.attachError", attachError),
    ...failureFaults("status.detachError", detachError),
  ];
}

const failureFaults = (path: string, { message = "", errorCode = 0 }: Failure = {}): readonly FieldError[] => [
  // Upstream names the limit of the metadata.
  ...(message.length > MAX_MESSAGE ? [tooLongError(`${path}.message`, MAX_METADATA)] : []),
  ...(errorCode < 0
    ? [invalidError(`${path}.errorCode`, errorCode, "must be between 0 and 2147483647, inclusive")]
    : []),
];

export const volumeAttachments: ResourceDefinition = defineBuiltin({
  group: "storage.k8s.io",
  version: "v1",
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  returnsDeletedObject: true,
  namespaced: false,
  hasStatus: true,
  schema: kindSchema(fields.schema),
  columns: [
    { name: "Attacher", type: "string", value: ".spec.attacher" },
    {
      name: "PV",
      type: "string",
      value: (object) => (object as VolumeAttachment).spec?.source?.persistentVolumeName ?? "",
    },
    { name: "Node", type: "string", value: ".spec.nodeName" },
    {
      name: "Attached",
      type: "boolean",
      value: (object) => (object as VolumeAttachment).status?.attached ?? false,
    },
    ageColumn,
  ],
  strategy: {
    ...statusStrategy<VolumeAttachment>(validate, validateChange, {}, validateStatus),
    allowUnconditionalUpdate: false,
  } as Strategy,
});
