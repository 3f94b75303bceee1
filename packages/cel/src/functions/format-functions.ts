// The formats that Kubernetes has names for.
// Source: k8s.io/apiserver/pkg/cel/library/format.go

import { findStringFormat } from "@postern/apimachinery/schema/validation/string-formats";
import {
  isDNS1035Label,
  isDNS1123Label,
  isDNS1123Subdomain,
  isQualifiedName,
  isValidLabelValue,
  type StringValidator,
} from "@postern/apimachinery/validation/string-validators";
import { EXTENSION_TYPES } from "../cel-type.ts";
import { CelExtension, CelOptional, failCel, listOf, NO_VALUE } from "../cel-value.ts";
import { urlError } from "./cel-url.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";

class NamedFormat extends CelExtension {
  readonly typeName = EXTENSION_TYPES.format;
  readonly validate: StringValidator;

  constructor(validate: StringValidator) {
    super();
    this.validate = validate;
  }

  equals(other: CelExtension): boolean {
    return other === this;
  }
}

/** The prefix of a name may end with a dash. */
const beginningOf =
  (validate: StringValidator): StringValidator =>
  (text) =>
    validate(text.length > 1 ? text.replace(/-$/, "a") : text);

const asFormat =
  (name: string, fault: string): StringValidator =>
  (text) =>
    findStringFormat(name)?.(text) === true ? [] : [fault];

const FORMATS: ReadonlyMap<string, NamedFormat> = new Map(
  (
    [
      ["dns1123Label", isDNS1123Label],
      ["dns1123Subdomain", isDNS1123Subdomain],
      ["dns1035Label", isDNS1035Label],
      ["qualifiedName", isQualifiedName],
      ["dns1123LabelPrefix", beginningOf(isDNS1123Label)],
      ["dns1123SubdomainPrefix", beginningOf(isDNS1123Subdomain)],
      ["dns1035LabelPrefix", beginningOf(isDNS1035Label)],
      ["labelValue", isValidLabelValue],
      ["uri", (text) => [urlError(text)].filter((fault) => fault !== undefined)],
      ["uuid", asFormat("uuid", "does not match the UUID format")],
      ["byte", asFormat("byte", "invalid base64")],
      ["date", asFormat("date", "invalid date")],
      ["datetime", asFormat("datetime", "invalid datetime")],
    ] satisfies readonly (readonly [string, StringValidator])[]
  ).map(([name, validate]) => [name, new NamedFormat(validate)]),
);

export const formatFunctions: readonly CelOverload[] = [
  ...[...FORMATS].map(([name, format]) => celFunction(`format.${name}`, [], "format", () => format)),
  celFunction("format.named", ["string"], "optional<format>", (name) => {
    const format = FORMATS.get(name);
    return format === undefined ? NO_VALUE : new CelOptional(format);
  }),
  celMethod("validate", ["format", "string"], "optional<list<string>>", (format, text) => {
    const faults = format instanceof NamedFormat ? format.validate(text) : failCel("no such overload");
    return faults.length === 0 ? NO_VALUE : new CelOptional(listOf(faults));
  }),
];
