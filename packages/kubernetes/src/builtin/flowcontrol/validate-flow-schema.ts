// Requirements of a FlowSchema.
// Source: k8s.io/kubernetes/pkg/apis/flowcontrol/validation/validation.go (ValidateFlowSchema)

import {
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { isDNS1123Label } from "@postern/apimachinery/validation/string-validators";
import { labelFaults, subdomainFaults } from "../field-checks.ts";

type Named = { readonly name?: string; readonly namespace?: string };
type Subject = {
  readonly kind?: string;
  readonly user?: Named;
  readonly group?: Named;
  readonly serviceAccount?: Named;
};
type Texts = readonly string[] | null | undefined;
type ResourceRule = {
  readonly verbs?: Texts;
  readonly apiGroups?: Texts;
  readonly resources?: Texts;
  readonly namespaces?: Texts;
  readonly clusterScope?: boolean;
};
type NonResourceRule = { readonly verbs?: Texts; readonly nonResourceURLs?: Texts };
export type FlowSchemaSpec = {
  readonly priorityLevelConfiguration?: Named;
  readonly matchingPrecedence?: number;
  readonly distinguisherMethod?: { readonly type?: string };
  readonly rules?: readonly {
    readonly subjects?: readonly Subject[] | null;
    readonly resourceRules?: readonly ResourceRule[];
    readonly nonResourceRules?: readonly NonResourceRule[];
  }[];
};

const MAX_PRECEDENCE = 10_000;
const METHODS = ["ByNamespace", "ByUser"];

export function validateFlowSchema(name: string, spec: FlowSchemaSpec): readonly FieldError[] {
  const { matchingPrecedence = 0, distinguisherMethod, priorityLevelConfiguration, rules = [] } = spec;
  const level = priorityLevelConfiguration?.name ?? "";
  const precedence = (why: string): FieldError => invalidError("spec.matchingPrecedence", matchingPrecedence, why);
  const levelPath = "spec.priorityLevelConfiguration.name";
  return [
    ...(matchingPrecedence <= 0 ? [precedence("must be a positive value")] : []),
    ...(matchingPrecedence > MAX_PRECEDENCE ? [precedence(`must not be greater than ${MAX_PRECEDENCE}`)] : []),
    ...(matchingPrecedence === 1 && name !== "exempt"
      ? [precedence("only the schema named 'exempt' may have matchingPrecedence 1")]
      : []),
    ...(distinguisherMethod !== undefined && !METHODS.includes(distinguisherMethod.type ?? "")
      ? [notSupportedError("spec.distinguisherMethod.type", { ...distinguisherMethod }, METHODS)]
      : []),
    ...(level === ""
      ? [requiredError(levelPath, "must reference a priority level")]
      : subdomainFaults(levelPath, level)),
    ...rules.flatMap(({ subjects, resourceRules = [], nonResourceRules = [] }, index) => {
      const path = indexPath("spec.rules", index);
      return [
        ...((subjects ?? []).length === 0
          ? [requiredError(`${path}.subjects`, "subjects must contain at least one value")]
          : []),
        ...(subjects ?? []).flatMap((subject, each) => subjectFaults(subject, indexPath(`${path}.subjects`, each))),
        ...(resourceRules.length + nonResourceRules.length === 0
          ? [requiredError(path, "at least one of resourceRules and nonResourceRules has to be non-empty")]
          : []),
        ...resourceRules.flatMap((rule, each) => resourceFaults(rule, indexPath(`${path}.resourceRules`, each))),
        ...nonResourceRules.flatMap((rule, each) => urlRuleFaults(rule, indexPath(`${path}.nonResourceRules`, each))),
      ];
    }),
  ];
}

const KINDS = ["Group", "ServiceAccount", "User"];
const PARTS = [
  ["ServiceAccount", "serviceAccount"],
  ["User", "user"],
  ["Group", "group"],
] as const;

function subjectFaults(subject: Subject, path: string): readonly FieldError[] {
  const { kind = "" } = subject;
  const own = PARTS.find(([name]) => name === kind);
  if (own === undefined) return [notSupportedError(`${path}.kind`, kind, KINDS)];
  return [
    ...partFaults(own[1], subject[own[1]], kind, `${path}.${own[1]}`),
    ...PARTS.filter(([name, part]) => name !== kind && subject[part] !== undefined).map(([name, part]) =>
      forbiddenError(`${path}.${part}`, `${part} is forbidden when subject kind is not '${name}'`),
    ),
  ];
}

function partFaults(part: string, subject: Named | undefined, kind: string, path: string): readonly FieldError[] {
  if (subject === undefined) return [requiredError(path, `${part} is required when subject kind is '${kind}'`)];
  const { name = "", namespace = "" } = subject;
  const isAccount = kind === "ServiceAccount";
  return [
    ...(name === ""
      ? [requiredError(`${path}.name`)]
      : isAccount && name !== "*"
        ? subdomainFaults(`${path}.name`, name)
        : []),
    ...(isAccount && namespace === ""
      ? [requiredError(`${path}.namespace`, "must specify namespace for service account")]
      : []),
    ...(isAccount && namespace !== "" ? labelFaults(`${path}.namespace`, namespace) : []),
  ];
}

const VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

function verbFaults(verbs: readonly string[], path: string): readonly FieldError[] {
  if (verbs.length === 0) return [requiredError(path, "verbs must contain at least one value")];
  if (verbs.includes("*")) return alone(path, verbs, "verbs");
  return verbs.every((verb) => VERBS.includes(verb)) ? [] : [notSupportedError(path, [...verbs], VERBS)];
}

const alone = (path: string, values: readonly string[], what: string): readonly FieldError[] =>
  values.length > 1 && values.includes("*")
    ? [invalidError(path, [...values], `if '*' is present, must not specify other ${what}`)]
    : [];

function resourceFaults(rule: ResourceRule, path: string): readonly FieldError[] {
  const listed = (name: "apiGroups" | "resources", what: string, kinds: string): readonly FieldError[] => {
    const values = rule[name] ?? [];
    const missing = `resource rules must supply at least one ${what}`;
    return values.length === 0 ? [requiredError(`${path}.${name}`, missing)] : alone(`${path}.${name}`, values, kinds);
  };
  const namespaces = rule.namespaces ?? [];
  const at = `${path}.namespaces`;
  return [
    ...verbFaults(rule.verbs ?? [], `${path}.verbs`),
    ...listed("apiGroups", "api group", "api groups"),
    ...listed("resources", "resource", "resources"),
    ...(namespaces.length === 0 && rule.clusterScope !== true
      ? [requiredError(at, "resource rules that are not cluster scoped must supply at least one namespace")]
      : namespaces.includes("*")
        ? alone(at, namespaces, "namespaces")
        : namespaces.flatMap((namespace, index) =>
            isDNS1123Label(namespace).map((fault) =>
              invalidError(
                indexPath(at, index),
                namespace,
                `each member of this list must be '*' or a DNS-1123 label; ${fault}`,
              ),
            ),
          )),
  ];
}

function urlRuleFaults(rule: NonResourceRule, path: string): readonly FieldError[] {
  const urls = rule.nonResourceURLs ?? [];
  const at = `${path}.nonResourceURLs`;
  return [
    ...verbFaults(rule.verbs ?? [], `${path}.verbs`),
    ...(urls.length === 0
      ? [requiredError(at, "nonResourceURLs must contain at least one value")]
      : urls.includes("*")
        ? alone(at, urls, "non-resource URLs")
        : urls.flatMap((url, index) => urlFaults(url, indexPath(at, index)))),
  ];
}

/** Only the first fault of a path counts. */
function urlFaults(url: string, path: string): readonly FieldError[] {
  const fault = (why: string): readonly FieldError[] => [invalidError(path, url, why)];
  if (url === "") return fault("must not be empty");
  if (url === "/") return [];
  if (!url.startsWith("/")) return fault("must start with slash");
  if (url.includes(" ")) return fault("must not contain white-space");
  if (url.includes("//")) return fault("must not contain double slash");
  const star = url.indexOf("*");
  if (star < 0) return [];
  if (star !== url.length - 1) return fault("wildcard can only do suffix matching");
  return url.endsWith("/*") ? [] : fault("wildcard can only do suffix matching");
}
