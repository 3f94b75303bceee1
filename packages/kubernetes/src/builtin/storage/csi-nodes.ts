// CSINodes: the drivers for volumes of each node. They are stored, but have no effect.
// Source: k8s.io/kubernetes/pkg/registry/storage/csinode/strategy.go, pkg/apis/storage/validation/validation.go (ValidateCSINode)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { negativeFaults, qualifiedFaults, subdomainFaults } from "../field-checks.ts";

const fields = s.object({
  spec: s.object({
    drivers: mergedInPatches(
      s.listMap(
        s.object({
          name: s.string(),
          nodeID: s.string(),
          topologyKeys: s.list(s.string()).nullable(),
          allocatable: s.object({
            count: s.int32(),
          }),
        }),
        ["name"],
      ),
      "name",
    ).nullable(),
  }),
});

type CsiNode = KindOf<typeof fields>;
type Driver = NonNullable<NonNullable<NonNullable<CsiNode["spec"]>["drivers"]>[number]>;

const MAX_DRIVER_NAME = 63;
const MAX_NODE_ID = 256;

const driversOf = ({ spec }: CsiNode): readonly Driver[] => spec?.drivers ?? [];

const validate = (node: CsiNode): readonly FieldError[] =>
  driversOf(node).flatMap((driver, index) => {
    const path = indexPath("spec.drivers", index);
    const { name = "", nodeID = "", allocatable } = driver;
    const keys = driver.topologyKeys ?? [];
    return [
      ...driverNameFaults(`${path}.name`, name),
      ...(nodeID === "" ? [requiredError(`${path}.nodeID`)] : []),
      ...(nodeID.length > MAX_NODE_ID
        ? [invalidError(`${path}.nodeID`, nodeID, `must be ${MAX_NODE_ID} characters or less`)]
        : []),
      ...negativeFaults(`${path}.allocatable.count`, allocatable?.count),
      ...(driversOf(node).findIndex((other) => other.name === driver.name) < index
        ? [duplicateError(`${path}.name`, name)]
        : []),
      ...keys.flatMap((key, each) => [
        ...(key === "" ? [requiredError(path)] : []),
        ...(keys.indexOf(key) < each ? [duplicateError(path, key)] : []),
        ...qualifiedFaults(path, key),
      ]),
    ];
  });

/** The name of a driver. */
function driverNameFaults(path: string, name: string): readonly FieldError[] {
  if (name === "") return [requiredError(path)];
  const tooLong =
    name.length > MAX_DRIVER_NAME
      ? [invalidError(path, name, `must be no more than ${MAX_DRIVER_NAME} characters`)]
      : [];
  return [...tooLong, ...subdomainFaults(path, name)];
}

/** A driver that stays may only change its allocatable count. */
const validateChange = (next: CsiNode, old: CsiNode): readonly FieldError[] =>
  driversOf(old).flatMap((before) =>
    driversOf(next)
      .filter(({ name }) => name === before.name)
      .filter((now) => !equalJson(withoutAllocatable(now), withoutAllocatable(before)))
      .map((now) => invalidError("spec.drivers", withoutAllocatable(now), "field is immutable")),
  );

const withoutAllocatable = ({ allocatable: _, ...driver }: Driver): JsonValue => driver as JsonValue;

export const csiNodes: ResourceDefinition = defineBuiltin({
  group: "storage.k8s.io",
  version: "v1",
  kind: "CSINode",
  plural: "csinodes",
  returnsDeletedObject: true,
  namespaced: false,
  schema: kindSchema(fields.schema),
  columns: [
    {
      name: "Drivers",
      type: "integer",
      value: (object) => driversOf(object as CsiNode).length,
    },
    ageColumn,
  ],
  setDefaults: (object) => {
    const node = object as CsiNode;
    return { ...node, spec: { ...node.spec, drivers: node.spec?.drivers ?? null } };
  },
  strategy: {
    validate,
    validateUpdate: (next: CsiNode, old: CsiNode) => [...validate(next), ...validateChange(next, old)],
  },
});
