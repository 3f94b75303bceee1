// The rendered template of a virtual cluster: that of its instance, or the VirtualClusterTemplate that it names, with parameters (ADR 119).

import type { VirtualClusterInstance, VirtualClusterInstanceStatus } from "@postern/api/virtual-cluster-instance";
import type { TemplateParameter, VirtualClusterTemplate } from "@postern/api/virtual-cluster-template";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { compilePattern, findPatternError } from "@postern/apimachinery/schema/pattern/pattern";
import { PatternLimitError, type SpendSteps } from "@postern/apimachinery/schema/pattern/pattern-program";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
  tooLongError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { resolveYamlScalar } from "@postern/apimachinery/yaml/resolve-yaml-scalar";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import type { Foundation } from "../../foundation/foundation.ts";

type Template = VirtualClusterInstanceStatus["virtualCluster"];

/** `faults` are those of the instance; `missing`: the template or version does not exist yet. */
export type RenderedTemplate = {
  readonly template?: Template;
  readonly faults: readonly FieldError[];
  readonly missing?: string;
};

/** The instance's own template takes precedence. With `syncOnce`, the template stays as it was rendered first. */
export function renderTemplate(
  instance: VirtualClusterInstance,
  deps: Pick<Foundation, "names" | "lookup">,
): RenderedTemplate {
  const { spec, status } = instance;
  const name = spec?.templateRef?.name ?? "";
  if (spec?.template !== undefined) return { template: spec.template, faults: [] };
  if (name === "") return { faults: [] };
  if (spec?.templateRef?.syncOnce === true && status?.virtualCluster !== undefined) {
    return { template: status.virtualCluster, faults: [] };
  }
  const found = deps.lookup.virtualClusterTemplate(name);
  if (found === undefined) return { faults: [], missing: `there is no VirtualClusterTemplate ${JSON.stringify(name)}` };
  const version = spec?.templateRef?.version ?? "";
  const chosen = versionOf(found, version);
  if (chosen === undefined) {
    return { faults: [], missing: `template ${JSON.stringify(name)} has no version ${JSON.stringify(version)}` };
  }
  const { values, faults } = readParameters(spec?.parameters ?? "", chosen.parameters ?? []);
  if (faults.length > 0) return { faults };
  const project = deps.names.projectOf(instance.metadata.namespace ?? "") ?? "";
  const own = { name: instance.metadata.name ?? "", namespace: instance.metadata.namespace ?? "", project };
  const filler = new Filler({ ...values, [deps.names.name]: own });
  const template = filler.fill(chosen.template ?? {});
  const ofTemplate = [...filler.unknown].map(
    (variable) => `refers to .Values.${variable}, which is not one of its parameters`,
  );
  if (filler.isTooLarge) ofTemplate.push(`has more than ${MAX_RENDERED} characters of parameters`);
  // Only strings were replaced: the structure is that of the template.
  return ofTemplate.length === 0
    ? { template: template as Template, faults: [] }
    : { faults: ofTemplate.map((fault) => invalidError("spec.templateRef.name", name, `the template ${fault}`)) };
}

type Version = Pick<NonNullable<VirtualClusterTemplate["spec"]>, "template" | "parameters">;

/** `wanted` may omit the last numbers, or have an x in their place; "" is the newest. Undefined if there is none. */
function versionOf({ spec }: VirtualClusterTemplate, wanted: string): Version | undefined {
  const versions = spec?.versions ?? [];
  if (versions.length === 0) return wanted === "" ? (spec ?? {}) : undefined;
  const parts = wanted === "" ? [] : wanted.split(".", 4);
  if (parts.length > 3) return undefined;
  const matching = versions.filter(({ version = "" }) => {
    const numbers = version.split(".");
    return parts.every((part, at) => part === "x" || part === numbers[at]);
  });
  return matching.reduce<(typeof matching)[number] | undefined>(
    (newest, each) =>
      newest === undefined || compareVersions(each.version ?? "", newest.version ?? "") > 0 ? each : newest,
    undefined,
  );
}

function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  for (let at = 0; at < 3; at++) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const AT = "spec.parameters";
/** Characters. YAML takes longer to parse: a hundred milliseconds for 64 Ki. */
const MAX_PARAMETERS = { json: 64 << 10, yaml: 8 << 10 } as const;

/** The steps of all patterns of a template for the values of one instance: about 50 ms. Each may be a hard one for a long value. */
const MAX_PATTERN_STEPS = 2_000_000;

/** The values by their paths, as a tree of strings. Unknown parameters are ignored: a later version of the template may know them. */
function readParameters(
  text: string,
  parameters: readonly TemplateParameter[],
): { readonly values: JsonObject; readonly faults: readonly FieldError[] } {
  const values: MutableValues = {};
  let given: JsonValue = {};
  try {
    if (text.length > MAX_PARAMETERS.json) throw new YamlError(`text is longer than ${MAX_PARAMETERS.json} characters`);
    given = text.trim() === "" ? {} : decodeYaml(text, { maxLength: MAX_PARAMETERS.yaml }).value;
  } catch (error) {
    return { values, faults: [invalidError(AT, text, error instanceof Error ? error.message : String(error))] };
  }
  if (!isJsonObject(given)) return { values, faults: [invalidError(AT, text, "must be a YAML mapping")] };
  const faults: FieldError[] = [];
  let steps = 0;
  const spend = (more: number): void => {
    steps += more;
    if (steps > MAX_PATTERN_STEPS) throw new PatternLimitError();
  };
  for (const parameter of parameters) {
    const path = (parameter.variable ?? "").split(".");
    const found = valueAt(given, path);
    const isSet = found !== undefined && found !== null && found !== "";
    if (!isSet && parameter.required === true && (parameter.defaultValue ?? "") === "") {
      faults.push(requiredError(`${AT}.${parameter.variable}`));
      continue;
    }
    const value = isSet ? found : (parameter.defaultValue ?? "");
    const fault =
      isJsonObject(value) || isJsonArray(value) ? "must be a single value" : faultOf(String(value), parameter, spend);
    if (fault !== undefined) faults.push(invalidError(`${AT}.${parameter.variable}`, value, fault));
    else setAt(values, path, String(value));
  }
  return { values, faults };
}

/** Rules apply only to set values. */
function faultOf(
  value: string,
  { type, options = [], min, max, validation, invalidation, required }: TemplateParameter,
  spend: SpendSteps,
): string | undefined {
  if (value === "" && required !== true) return undefined;
  if (type === "boolean" && value !== "true" && value !== "false") return "must be true or false";
  if (type === "number") {
    const number = value.trim() === "" ? Number.NaN : Number(value);
    if (!Number.isFinite(number)) return "must be a number";
    if (min !== undefined && number < min) return `must be no less than ${min}`;
    if (max !== undefined && number > max) return `must be no more than ${max}`;
  }
  if (type !== "multiline" && /[\r\n\u0085\u2028\u2029]/.test(value)) return "must have no line breaks";
  if (options.length > 0 && !options.includes(value)) return `must be one of ${options.join(", ")}`;
  try {
    if (validation !== undefined && validation !== "" && !compilePattern(validation).test(value, spend)) {
      return `must match ${JSON.stringify(validation)}`;
    }
    if (invalidation !== undefined && invalidation !== "" && compilePattern(invalidation).test(value, spend)) {
      return `must not match ${JSON.stringify(invalidation)}`;
    }
  } catch (error) {
    if (!(error instanceof PatternLimitError)) throw error;
    return `${error.message}: all patterns of a template together may take ${MAX_PATTERN_STEPS} steps`;
  }
  return undefined;
}

function valueAt(object: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const name of path) value = isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

type MutableValues = { [name: string]: string | MutableValues };

/** Fills in place: a group of thousands would be copied for each of them. */
function setAt(values: MutableValues, path: readonly string[], value: string): void {
  let group = values;
  for (const name of path.slice(0, -1)) {
    const before = group[name];
    const inner: MutableValues = typeof before === "object" ? before : {};
    group[name] = inner;
    group = inner;
  }
  group[path.at(-1) ?? ""] = value;
}

/** Other text in double braces is kept: it may be meant for another program. */
const REFERENCE = /\{\{\s*\.Values\.([A-Za-z0-9_.-]*[A-Za-z0-9_])\s*\}\}/g;

/** A short template may refer to a long value many times. */
const MAX_RENDERED = 1 << 20;

/** References without a value that are named. */
const MAX_UNKNOWN = 20;

class Filler {
  /** References without a value. */
  readonly unknown = new Set<string>();
  readonly #values: JsonObject;
  #added = 0;

  constructor(values: JsonObject) {
    this.#values = values;
  }

  get isTooLarge(): boolean {
    return this.#added > MAX_RENDERED;
  }

  fill(value: JsonValue): JsonValue {
    if (typeof value === "string") return value.replace(REFERENCE, (_, variable: string) => this.#valueOf(variable));
    if (isJsonArray(value)) return value.map((each) => this.fill(each));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.fill(each ?? null)]));
  }

  #valueOf(variable: string): string {
    const found = valueAt(this.#values, variable.split("."));
    if (typeof found !== "string" && this.unknown.size < MAX_UNKNOWN) this.unknown.add(variable);
    if (typeof found !== "string" || this.isTooLarge) return "";
    this.#added += found.length;
    return found;
  }
}

/** Most parameters of one template or version. Each is looked up in the instance and checked. */
const MAX_PARAMETERS_OF_TEMPLATE = 500;
const MAX_VARIABLE_LENGTH = 253;

/** Faults that every instance would have: invalid expressions, and parameters with the same name. */
export function validateParameters(parameters: readonly TemplateParameter[], path: string): readonly FieldError[] {
  if (parameters.length > MAX_PARAMETERS_OF_TEMPLATE) {
    return [tooManyError(path, parameters.length, MAX_PARAMETERS_OF_TEMPLATE)];
  }
  const faults: FieldError[] = [];
  const known = new Set<string>();
  for (const [index, { variable = "", validation = "", invalidation = "" }] of parameters.entries()) {
    const at = indexPath(path, index);
    if (known.has(variable)) faults.push(duplicateError(`${at}.variable`, variable));
    known.add(variable);
    if (variable.length > MAX_VARIABLE_LENGTH) {
      faults.push(tooLongError(`${at}.variable`, MAX_VARIABLE_LENGTH));
      continue;
    }
    if (!/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(variable) || /(^|\.)__proto__(\.|$)/.test(variable)) {
      faults.push(
        invalidError(
          `${at}.variable`,
          variable,
          "must consist of names with letters, digits, - and _, separated by dots",
        ),
      );
    }
    // As a key of a mapping without quotes.
    for (const name of variable.split(".")) {
      const read = String(resolveYamlScalar(name));
      if (name !== "" && read !== name)
        faults.push(invalidError(`${at}.variable`, variable, `YAML reads ${name} as ${read}: use another name`));
    }
    for (const [field, source] of Object.entries({ validation, invalidation })) {
      const fault = source === "" ? undefined : findPatternError(source);
      if (fault !== undefined) faults.push(invalidError(`${at}.${field}`, source, fault));
    }
  }
  return faults;
}
