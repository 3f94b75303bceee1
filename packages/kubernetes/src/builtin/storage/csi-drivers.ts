// CSIDrivers: properties of drivers for volumes. They are stored, but have no effect.
// Source: k8s.io/kubernetes/pkg/registry/storage/csidriver/strategy.go, pkg/apis/storage/{v1/defaults.go,validation/validation.go}

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import { isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { choiceFaults } from "../field-checks.ts";

const fields = s.object({
  spec: s
    .object({
      attachRequired: s.boolean(),
      podInfoOnMount: s.boolean(),
      volumeLifecycleModes: s.set(s.string()),
      storageCapacity: s.boolean(),
      fsGroupPolicy: s.string(),
      tokenRequests: s.list(
        s.object({
          audience: s.string().required(),
          expirationSeconds: s.int64(),
        }),
      ),
      requiresRepublish: s.boolean(),
      seLinuxMount: s.boolean(),
      nodeAllocatableUpdatePeriodSeconds: s.int64(),
      preventPodSchedulingIfMissing: s.boolean(),
      serviceAccountTokenInSecrets: s.boolean(),
    })
    .required(),
});

type CsiDriver = KindOf<typeof fields>;

const MAX_NAME_LENGTH = 63;
const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;
const MIN_UPDATE_SECONDS = 10;
const MODES = ["Persistent", "Ephemeral"];
const POLICIES = ["File", "None", "ReadWriteOnceWithFSType"];

function validate({ metadata: { name = "" }, spec }: CsiDriver): readonly FieldError[] {
  const { volumeLifecycleModes = [], fsGroupPolicy, tokenRequests = [], nodeAllocatableUpdatePeriodSeconds } = spec;
  const audiences = new Set<string>();
  return [
    ...(name.length > MAX_NAME_LENGTH ? [tooLongError("metadata.name", MAX_NAME_LENGTH)] : []),
    ...isDNS1123Subdomain(name.toLowerCase()).map((fault) => invalidError("metadata.name", name, fault)),
    ...volumeLifecycleModes.flatMap((mode) => choiceFaults("spec.volumeLifecycleModes", mode, MODES)),
    ...choiceFaults("spec.fsGroupPolicy", fsGroupPolicy, POLICIES),
    ...(nodeAllocatableUpdatePeriodSeconds !== undefined && nodeAllocatableUpdatePeriodSeconds < MIN_UPDATE_SECONDS
      ? [
          invalidError(
            "spec.nodeAllocatableUpdatePeriodSeconds",
            nodeAllocatableUpdatePeriodSeconds,
            `must be greater than or equal to ${MIN_UPDATE_SECONDS} seconds`,
          ),
        ]
      : []),
    ...tokenRequests.flatMap(({ audience, expirationSeconds }, index) => {
      const path = indexPath("spec.tokenRequests", index);
      const isTwice = audiences.has(audience);
      audiences.add(audience);
      const seconds = `${path}.expirationSeconds`;
      return [
        ...(isTwice ? [duplicateError(`${path}.audience`, audience)] : []),
        ...(expirationSeconds !== undefined && expirationSeconds < MIN_TOKEN_SECONDS
          ? [invalidError(seconds, expirationSeconds, "may not specify a duration less than 10 minutes")]
          : []),
        ...(expirationSeconds !== undefined && expirationSeconds > MAX_TOKEN_SECONDS
          ? [invalidError(seconds, expirationSeconds, "may not specify a duration larger than 2^32 seconds")]
          : []),
      ];
    }),
    ...(spec.serviceAccountTokenInSecrets === undefined || tokenRequests.length > 0
      ? []
      : [
          invalidError(
            "spec.serviceAccountTokenInSecrets",
            spec.serviceAccountTokenInSecrets,
            "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
          ),
        ]),
  ];
}

const FIXED = ["attachRequired", "volumeLifecycleModes"] as const;

const column = (name: string, value: (driver: CsiDriver) => boolean): PrinterColumn => ({
  name,
  type: "boolean",
  value: (object: KubeObject) => value(object as CsiDriver),
});
const text = (name: string, value: (driver: CsiDriver) => string): PrinterColumn => ({
  name,
  type: "string",
  value: (object: KubeObject) => value(object as CsiDriver),
});

export const csiDrivers: ResourceDefinition = defineBuiltin({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSIDriver",
  plural: "csidrivers",
  returnsDeletedObject: true,
  namespaced: false,
  schema: kindSchema(fields.schema),
  columns: [
    column("AttachRequired", ({ spec }) => spec.attachRequired ?? true),
    column("PodInfoOnMount", ({ spec }) => spec.podInfoOnMount ?? false),
    column("StorageCapacity", ({ spec }) => spec.storageCapacity ?? false),
    text("TokenRequests", ({ spec: { tokenRequests = [] } }) =>
      tokenRequests.length === 0 ? "<unset>" : tokenRequests.map(({ audience }) => audience).join(","),
    ),
    column("RequiresRepublish", ({ spec }) => spec.requiresRepublish ?? false),
    text("Modes", ({ spec }) => (spec.volumeLifecycleModes ?? []).join(",") || "<unknown>"),
    ageColumn,
  ],
  // Bodies of built-in kinds have passed their types by now.
  setDefaults: (object) => {
    const driver = object as CsiDriver;
    // Absent in bodies that the schema refuses afterwards.
    const spec: Partial<CsiDriver["spec"]> = driver.spec ?? {};
    const { volumeLifecycleModes = [] } = spec;
    return {
      ...driver,
      spec: {
        ...spec,
        attachRequired: spec.attachRequired ?? true,
        podInfoOnMount: spec.podInfoOnMount ?? false,
        storageCapacity: spec.storageCapacity ?? false,
        fsGroupPolicy: spec.fsGroupPolicy ?? "ReadWriteOnceWithFSType",
        volumeLifecycleModes: volumeLifecycleModes.length === 0 ? ["Persistent"] : volumeLifecycleModes,
        requiresRepublish: spec.requiresRepublish ?? false,
        seLinuxMount: spec.seLinuxMount ?? false,
      },
    } as KubeObject;
  },
  strategy: {
    validateName: () => [],
    validate,
    validateUpdate: (next: CsiDriver, old: CsiDriver) => [
      ...validate(next),
      ...FIXED.flatMap((name) => {
        const now: JsonValue = next.spec[name] ?? null;
        return equalJson(now, old.spec[name] ?? null) ? [] : [invalidError(`spec.${name}`, now, "field is immutable")];
      }),
    ],
  },
});
