// Requirements of the environment of a container.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { type FieldError, indexPath, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { StringValidator } from "@postern/apimachinery/validation/string-validators";
import { textFaults } from "../../field-checks.ts";
import { listAt, objectAt, optionalObjectAt, textAt } from "../json-members.ts";

const SOURCES = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
/** Any printable ASCII but `=`. */
const isVariableName: StringValidator = (name) =>
  /^[ -<>-~]+$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];

const SEVERAL = "may not have more than one field specified at a time";

export const validateEnv = (container: JsonValue, path: string): readonly FieldError[] => [
  ...listAt(container, "env").flatMap((variable, index) => variableFaults(variable, indexPath(`${path}.env`, index))),
  ...listAt(container, "envFrom").flatMap((source, index) => fromFaults(source, `${path}.envFrom`, index)),
];

function variableFaults(variable: JsonValue, path: string): readonly FieldError[] {
  const name = textAt(variable, "name");
  const source = optionalObjectAt(variable, "valueFrom");
  return [
    ...(name === "" ? [requiredError(`${path}.name`)] : textFaults(`${path}.name`, name, isVariableName)),
    ...(source === undefined ? [] : sourceFaults(source, textAt(variable, "value"), `${path}.valueFrom`)),
  ];
}

function sourceFaults(source: JsonValue, value: string, path: string): readonly FieldError[] {
  const given = SOURCES.filter((name) => optionalObjectAt(source, name) !== undefined);
  const keys = given.filter((name) => name === "configMapKeyRef" || name === "secretKeyRef");
  const fault = (why: string): FieldError => invalidError(path, "", why);
  return [
    ...(optionalObjectAt(source, "fieldRef") !== undefined && textAt(objectAt(source, "fieldRef"), "fieldPath") === ""
      ? [requiredError(`${path}.fieldRef.fieldPath`)]
      : []),
    ...keys
      .filter((name) => textAt(objectAt(source, name), "key") === "")
      .map((name) => requiredError(`${path}.${name}.key`)),
    ...(given.length === 0
      ? [
          fault(
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
          ),
        ]
      : value !== ""
        ? [fault("may not be specified when `value` is not empty")]
        : given.length > 1
          ? [fault(SEVERAL)]
          : []),
  ];
}

function fromFaults(source: JsonValue, path: string, index: number): readonly FieldError[] {
  const prefix = textAt(source, "prefix");
  const given = ["configMapRef", "secretRef"].filter((name) => optionalObjectAt(source, name) !== undefined);
  return [
    ...(prefix === "" ? [] : textFaults(`${indexPath(path, index)}.prefix`, prefix, isVariableName)),
    ...(given.length === 0 ? [invalidError(path, "", "must specify one of: `configMapRef` or `secretRef`")] : []),
    ...(given.length > 1 ? [invalidError(path, "", SEVERAL)] : []),
  ];
}
