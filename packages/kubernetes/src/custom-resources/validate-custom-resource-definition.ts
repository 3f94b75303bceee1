// Validation of CustomResourceDefinitions beyond their schema.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { Steps } from "@postern/apimachinery/steps/steps";
import {
  childPath,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import { isDNS1035Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import { jsonPathLimitFault, MAX_JSON_PATH_LENGTH } from "@postern/apiserver/endpoints/table/json-path";
import { choiceFaults, textFaults } from "../builtin/field-checks.ts";
import type { WebhookClientConfig } from "../webhooks/client-config.ts";
import { validateReviewVersions, validateWebhookClient } from "../webhooks/validate-client.ts";
import { approvalStateOf, isProtectedGroup } from "./api-approval.ts";
import type { CompiledDefinitions } from "./compiled-definitions.ts";
import {
  type CustomResourceDefinition,
  type CustomResourceNames,
  isEstablished,
} from "./custom-resource-definition.ts";
import { validateSelectableFields } from "./selectable-fields.ts";

type Spec = CustomResourceDefinition["spec"];
type Version = Spec["versions"][number];

const SCOPES = ["Cluster", "Namespaced"];
const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"];
/** Paths for replicas, such as `.spec.replicas` or `.metadata.labels.a\.b`. */
const SIMPLE_PATH = /^(\.([A-Za-z0-9_$/-]|\\\.|\\\/)+|\['[^']*'\]|\[\d+\]|\[\?\([^\]]*\)\]|\[\*\]|\.\*)+$/;
/** Several times those of any published definition: each version and column costs every reader of Tables and of OpenAPI documents. */
const MAX_VERSIONS = 20;
const MAX_COLUMNS = 100;
/** Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go (MaxSelectableFields) */
const MAX_SELECTABLE_FIELDS = 8;

/** Compiles schemas to validate them. */
type Checks = Pick<CompiledDefinitions, "faultsOf">;

function* validateDefinition(
  definition: CustomResourceDefinition,
  checks: Checks,
  old?: CustomResourceDefinition,
): Steps<readonly FieldError[]> {
  const { spec, metadata } = definition;
  const required = `${spec.names.plural}.${spec.group}`;
  const isNamed = metadata.name === required;
  return [
    ...(isNamed ? [] : [invalidError("metadata.name", metadata.name, 'must be spec.names.plural+"."+spec.group')]),
    ...validateGroup(spec.group),
    ...choiceFaults("spec.scope", spec.scope, SCOPES),
    ...validateVersions(spec),
    // Definitions from before the limits can still be changed otherwise, and deleted.
    ...(old !== undefined && equalJson(old.spec.versions, spec.versions) ? [] : validateLimits(spec)),
    ...validateNames(spec.names),
    ...validateConversion(spec, old),
    ...(spec.preserveUnknownFields === true
      ? [
          invalidError(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
          ),
        ]
      : []),
    ...(yield* checks.faultsOf(definition)),
  ];
}

export function* validateNewDefinition(
  definition: CustomResourceDefinition,
  checks: Checks,
): Steps<readonly FieldError[]> {
  const { spec, metadata } = definition;
  const approval = approvalStateOf(metadata);
  const path = "metadata.annotations[api-approved.kubernetes.io]";
  const isApproved = !isProtectedGroup(spec.group) || approval.state !== "missing";
  const faults = yield* validateDefinition(definition, checks);
  return [...faults, ...(isApproved ? [] : [requiredError(path, approval.message)])];
}

export function* validateDefinitionUpdate(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
  checks: Checks,
): Steps<readonly FieldError[]> {
  const { spec } = definition;
  const fixed = isEstablished(old)
    ? [
        ...validateImmutable(spec.scope, old.spec.scope, "spec.scope"),
        ...validateImmutable(spec.names.kind, old.spec.names.kind, "spec.names.kind"),
      ]
    : [];
  return [
    ...(yield* validateDefinition(definition, checks, old)),
    ...fixed,
    ...validateImmutable(spec.group, old.spec.group, "spec.group"),
    ...validateImmutable(spec.names.plural, old.spec.names.plural, "spec.names.plural"),
    ...validateStoredVersions(definition),
  ];
}

/** Objects may still be stored in each of them. */
export function validateStoredVersions({ spec, status }: CustomResourceDefinition): readonly FieldError[] {
  const stored = status?.storedVersions ?? [];
  const known = new Set(spec.versions.map(({ name }) => name));
  const path = "status.storedVersions";
  const storage = spec.versions.find((version) => version.storage)?.name;
  const missing =
    storage === undefined || stored.includes(storage)
      ? []
      : [invalidError(path, [...stored], `must have the storage version ${storage}`)];
  return [
    ...stored.flatMap((name, index) =>
      known.has(name) ? [] : [invalidError(indexPath(path, index), name, "must appear in spec.versions")],
    ),
    ...missing,
  ];
}

function validateGroup(group: string): readonly FieldError[] {
  if (group === "") return [requiredError("spec.group")];
  const faults = isDNS1123Subdomain(group);
  if (faults.length > 0) return [invalidError("spec.group", group, faults.join(","))];
  return group.includes(".") ? [] : [invalidError("spec.group", group, "should be a domain with at least one dot")];
}

function validateVersions({ versions }: Spec): readonly FieldError[] {
  const path = "spec.versions";
  const names = versions.map(({ name }) => name);
  const stored = versions.filter(({ storage }) => storage).length;
  return [
    ...versions.flatMap((version, index) => validateVersion(version, indexPath(path, index))),
    ...eachOnce(versions, validateServing),
    ...(new Set(names).size === names.length ? [] : [invalidError(path, names, "must contain unique version names")]),
    ...(stored === 1 ? [] : [invalidError(path, names, "must have exactly one version marked as storage version")]),
  ];
}

function validateLimits({ versions }: Spec): readonly FieldError[] {
  const path = "spec.versions";
  return [
    ...atMost(versions, MAX_VERSIONS, path),
    ...eachOnce(versions, (version, at) => {
      const { additionalPrinterColumns = [], selectableFields = [], subresources } = version;
      const columns = at("additionalPrinterColumns");
      const fields = at("selectableFields");
      const scale = childPath(at("subresources"), "scale");
      const { specReplicasPath, statusReplicasPath, labelSelectorPath } = subresources?.scale ?? {};
      return [
        ...atMost(additionalPrinterColumns, MAX_COLUMNS, columns),
        ...additionalPrinterColumns
          .slice(0, MAX_COLUMNS)
          .flatMap(({ jsonPath }, i) => limitedPath(jsonPath, `${indexPath(columns, i)}.jsonPath`)),
        ...atMost([...new Set(selectableFields.map(({ jsonPath }) => jsonPath))], MAX_SELECTABLE_FIELDS, fields),
        ...selectableFields
          .slice(0, MAX_SELECTABLE_FIELDS)
          .flatMap(({ jsonPath }, i) => limitedPath(jsonPath, `${indexPath(fields, i)}.jsonPath`)),
        ...Object.entries({ specReplicasPath, statusReplicasPath, labelSelectorPath }).flatMap(
          ([name, jsonPath = ""]) => limitedPath(jsonPath, childPath(scale, name)),
        ),
      ];
    }),
  ];
}

const atMost = (list: readonly unknown[], limit: number, path: string): readonly FieldError[] =>
  list.length <= limit ? [] : [tooManyError(path, list.length, limit)];

function limitedPath(jsonPath: string, path: string): readonly FieldError[] {
  const fault = jsonPathLimitFault(jsonPath);
  return fault === undefined ? [] : [invalidError(path, jsonPath.slice(0, MAX_JSON_PATH_LENGTH), fault)];
}

function validateVersion(version: Version, path: string): readonly FieldError[] {
  const { name, deprecated = false, deprecationWarning } = version;
  const warningPath = childPath(path, "deprecationWarning");
  return [
    ...textFaults(childPath(path, "name"), name, isDNS1035Label),
    ...(deprecationWarning === undefined || deprecated
      ? []
      : [invalidError(warningPath, deprecationWarning, "can only be set for deprecated versions")]),
  ];
}

type HoistedMember = "additionalPrinterColumns" | "selectableFields" | "subresources";
const HOISTED: readonly HoistedMember[] = ["subresources", "additionalPrinterColumns", "selectableFields"];

/**
 * The faults of these members of each version. A member that all versions have alike is checked once, at the path of upstream's internal form, which has
 * it in the spec.
 */
function eachOnce(
  versions: readonly Version[],
  faultsOf: (version: Version, path: (member: HoistedMember) => string) => readonly FieldError[],
): readonly FieldError[] {
  const [first] = versions;
  const shared = new Set(
    HOISTED.filter((member) => versions.every((version) => equalJson(version[member], first?.[member]))),
  );
  return versions.flatMap((version, index) => {
    const { subresources, additionalPrinterColumns, selectableFields, ...rest } = version;
    const own = (member: HoistedMember): boolean => index === 0 || !shared.has(member);
    const checked: Version = {
      ...rest,
      ...(own("subresources") ? { subresources } : {}),
      ...(own("additionalPrinterColumns") ? { additionalPrinterColumns } : {}),
      ...(own("selectableFields") ? { selectableFields } : {}),
    };
    return faultsOf(checked, (member) =>
      shared.has(member) ? `spec.${member}` : childPath(indexPath("spec.versions", index), member),
    );
  });
}

function validateServing(version: Version, path: (member: HoistedMember) => string): readonly FieldError[] {
  const { subresources, additionalPrinterColumns = [], selectableFields = [], schema } = version;
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = "" } = subresources?.scale ?? {};
  const scale = childPath(path("subresources"), "scale");
  return [
    ...(specReplicasPath === undefined ? [] : below(specReplicasPath, [".spec."], `${scale}.specReplicasPath`)),
    ...(statusReplicasPath === undefined ? [] : below(statusReplicasPath, [".status."], `${scale}.statusReplicasPath`)),
    ...(labelSelectorPath === "" ? [] : below(labelSelectorPath, [".spec.", ".status."], `${scale}.labelSelectorPath`)),
    ...additionalPrinterColumns.flatMap((column, index) =>
      validateColumn(column, indexPath(path("additionalPrinterColumns"), index)),
    ),
    ...(schema?.openAPIV3Schema === undefined
      ? []
      : validateSelectableFields(selectableFields, schema.openAPIV3Schema, path("selectableFields"))),
  ];
}

function validateColumn(
  { name, type, jsonPath }: NonNullable<Version["additionalPrinterColumns"]>[number],
  path: string,
): readonly FieldError[] {
  const types = `must be one of ${COLUMN_TYPES.join(",")}`;
  return [
    ...(name === "" ? [requiredError(childPath(path, "name"))] : []),
    ...(type === "" ? [requiredError(childPath(path, "type"), types)] : []),
    ...(type === "" || COLUMN_TYPES.includes(type) ? [] : [invalidError(childPath(path, "type"), type, types)]),
    // Upstream's internal name of the field.
    ...(jsonPath === "" ? [requiredError(childPath(path, "JSONPath"))] : relativePath(jsonPath, `${path}.JSONPath`)),
  ];
}

/** The whole check of a column's path, as upstream: the cells of one that cannot be read are empty. */
const relativePath = (jsonPath: string, path: string): readonly FieldError[] =>
  jsonPath.startsWith(".") ? [] : [invalidError(path, jsonPath, "must be a simple json path starting with .")];

function simplePath(jsonPath: string, path: string): readonly FieldError[] {
  const faults = relativePath(jsonPath, path);
  return faults.length > 0 || SIMPLE_PATH.test(jsonPath)
    ? faults
    : [invalidError(path, jsonPath, "is an invalid path")];
}

function below(jsonPath: string, parents: readonly string[], path: string): readonly FieldError[] {
  if (jsonPath === "") return [requiredError(path)];
  const faults = simplePath(jsonPath, path);
  if (faults.length > 0 || parents.some((parent) => jsonPath.startsWith(parent))) return faults;
  const names = parents.map((parent) => parent.slice(0, -1)).join(" or ");
  return [invalidError(path, jsonPath, `should be a json path under ${parents.length > 1 ? "either " : ""}${names}`)];
}

function validateNames(names: CustomResourceNames): readonly FieldError[] {
  const { plural, singular = "", kind, listKind = "", shortNames = [], categories = [] } = names;
  const label = (name: string, path: string): readonly FieldError[] => textFaults(path, name, isDNS1035Label);
  const kindLabel = (name: string, path: string): readonly FieldError[] =>
    isDNS1035Label(name.toLowerCase()).map((fault) =>
      invalidError(path, name, `may have mixed case, but should otherwise match: ${fault}`),
    );
  const at = "spec.names";
  return [
    ...(plural === "" ? [requiredError(`${at}.plural`)] : label(plural, `${at}.plural`)),
    ...(singular === "" ? [] : label(singular, `${at}.singular`)),
    ...(kind === "" ? [requiredError(`${at}.kind`)] : kindLabel(kind, `${at}.kind`)),
    ...(listKind === "" ? [] : kindLabel(listKind, `${at}.listKind`)),
    ...shortNames.flatMap((name, index) => label(name, indexPath(`${at}.shortNames`, index))),
    ...categories.flatMap((name, index) => label(name, indexPath(`${at}.categories`, index))),
    ...(kind === listKind && kind !== ""
      ? [invalidError(`${at}.listKind`, listKind, "kind and listKind may not be the same")]
      : []),
  ];
}

/** Upstream's internal names of the fields. `old` is the definition before an update. */
function validateConversion({ conversion }: Spec, old: CustomResourceDefinition | undefined): readonly FieldError[] {
  if (conversion === undefined) return [];
  const { strategy, webhook } = conversion;
  const clientPath = "spec.conversion.webhookClientConfig";
  const versionsPath = "spec.conversion.conversionReviewVersions";
  const { clientConfig, conversionReviewVersions = [] } = webhook ?? {};
  if (strategy !== "Webhook") {
    const notSet = "should not be set when strategy is not set to Webhook";
    return [
      ...(strategy === "None" ? [] : [strategyFault(strategy)]),
      ...(clientConfig === undefined ? [] : [forbiddenError(clientPath, notSet)]),
      ...(conversionReviewVersions.length === 0 ? [] : [forbiddenError(versionsPath, notSet)]),
    ];
  }
  return [
    ...(clientConfig === undefined
      ? [requiredError(clientPath, "required when strategy is set to Webhook")]
      : [...validateWebhookClient(clientConfig, clientPath), ...validateAuthorities(clientConfig, clientPath, old)]),
    ...validateReviewVersions(conversionReviewVersions, versionsPath),
  ];
}

const strategyFault = (strategy: string): FieldError =>
  strategy === ""
    ? requiredError("spec.conversion.strategy")
    : notSupportedError("spec.conversion.strategy", strategy, ["None", "Webhook"]);

/** Definitions may be created with a placeholder that is filled in later; a valid bundle in use must stay valid. */
function validateAuthorities(
  { caBundle = "" }: WebhookClientConfig,
  path: string,
  old: CustomResourceDefinition | undefined,
): readonly FieldError[] {
  if (caBundle === "" || old === undefined || !isEstablished(old)) return [];
  const before = old.spec.conversion?.webhook?.clientConfig?.caBundle ?? "";
  if (hasCertificates(caBundle) || (before !== "" && !hasCertificates(before))) return [];
  const why = "unable to load root certificates: unable to parse bytes as PEM block";
  return [invalidError(`${path}.caBundle`, caBundle, why)];
}

const hasCertificates = (base64: string): boolean =>
  Buffer.from(base64, "base64").includes("-----BEGIN CERTIFICATE-----");
