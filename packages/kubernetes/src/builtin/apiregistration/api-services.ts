// APIServices as objects: no request is passed on to another server.
// Source: k8s.io/kube-aggregator/pkg/{apis/apiregistration/validation/validation.go,registry/apiservice/{strategy.go,etcd/etcd.go}}

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import {
  isDNS1035Label,
  isValidPathSegmentName,
  isValidPathSegmentPrefix,
} from "@postern/apimachinery/validation/string-validators";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { subdomainFaults, textFaults } from "../field-checks.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";

const fields = s.object({
  spec: s.object({
    service: s.object({
      namespace: s.string(),
      name: s.string(),
      port: s.int32(),
    }),
    group: s.string(),
    version: s.string(),
    insecureSkipTLSVerify: s.boolean(),
    caBundle: s.bytes(),
    groupPriorityMinimum: s.int32().required(),
    versionPriority: s.int32().required(),
  }),
  status: s.object({
    conditions: mergedInPatches(s.listMap(conditionFields(), ["type"]), "type"),
  }),
});

type ApiService = KindOf<typeof fields>;

const MAX_GROUP_PRIORITY = 20_000;
const MAX_VERSION_PRIORITY = 1_000;
const DEFAULT_PORT = 443;
const MAX_PORT = 65_535;

function validate({ metadata, spec }: ApiService): readonly FieldError[] {
  if (spec === undefined) return [requiredError("spec")];
  const { group = "", version = "", groupPriorityMinimum, versionPriority } = spec;
  const faults: FieldError[] = [];
  if (metadata.name !== `${version}.${group}`) {
    faults.push(
      invalidError(
        "metadata.name",
        metadata.name ?? "",
        `must be \`spec.version+"."+spec.group\`: "${version}.${group}"`,
      ),
    );
  }
  if (group !== "") faults.push(...subdomainFaults("spec.group", group));
  else if (version !== "v1") {
    faults.push(invalidError("spec.group", group, "only v1 may have an empty group and it better be legacy kube"));
  }
  faults.push(...textFaults("spec.version", version, isDNS1035Label));
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > MAX_GROUP_PRIORITY) {
    const range = `must be positive and less than ${MAX_GROUP_PRIORITY}`;
    faults.push(invalidError("spec.groupPriorityMinimum", groupPriorityMinimum, range));
  }
  if (versionPriority <= 0 || versionPriority > MAX_VERSION_PRIORITY) {
    const range = `must be positive and less than ${MAX_VERSION_PRIORITY}`;
    faults.push(invalidError("spec.versionPriority", versionPriority, range));
  }
  return [...faults, ...validateServer(spec)];
}

function validateServer({
  service,
  caBundle = "",
  insecureSkipTLSVerify = false,
}: NonNullable<ApiService["spec"]>): readonly FieldError[] {
  const skip = "spec.insecureSkipTLSVerify";
  if (service === undefined) {
    return [
      ...(caBundle === ""
        ? []
        : [invalidError("spec.caBundle", `${caBundle.length} bytes`, "local APIServices may not have a caBundle")]),
      ...(insecureSkipTLSVerify
        ? [invalidError(skip, true, "local APIServices may not have insecureSkipTLSVerify")]
        : []),
    ];
  }
  const { namespace = "", name = "", port = DEFAULT_PORT } = service;
  return [
    ...(namespace === "" ? [requiredError("spec.service.namespace")] : []),
    ...(name === "" ? [requiredError("spec.service.name")] : []),
    ...(port < 1 || port > MAX_PORT
      ? [invalidError("spec.service.port", port, "port is not valid: must be between 1 and 65535, inclusive")]
      : []),
    ...(insecureSkipTLSVerify && caBundle !== ""
      ? [invalidError(skip, true, "may not be true if caBundle is present")]
      : []),
  ];
}

const strategy: Strategy<ApiService> = {
  ...statusStrategy<ApiService>(validate),
  // The name for the core group ends in a dot.
  validateName: (name, isPrefix) => (isPrefix ? isValidPathSegmentPrefix(name) : isValidPathSegmentName(name)),
  prepareForCreate: (object, { receivedAt }) => ({
    ...object,
    status:
      object.spec?.service !== undefined
        ? {}
        : {
            conditions: [
              {
                type: "Available",
                status: "True",
                lastTransitionTime: formatTimestamp(receivedAt),
                reason: "Local",
                message: "Local APIServices are always available",
              },
            ],
          },
  }),
};

const serviceOf = ({ spec }: ApiService): string =>
  spec?.service === undefined ? "Local" : `${spec.service.namespace ?? ""}/${spec.service.name ?? ""}`;

function availability({ status }: ApiService): string {
  const condition = status?.conditions?.find(({ type }) => type === "Available");
  if (condition === undefined) return "Unknown";
  const { status: state = "", reason = "" } = condition;
  return state === "True" || reason === "" ? state : `${state} (${reason})`;
}

export const apiServices: ResourceDefinition = defineBuiltin({
  group: "apiregistration.k8s.io",
  version: "v1",
  kind: "APIService",
  plural: "apiservices",
  categories: ["api-extensions"],
  namespaced: false,
  hasStatus: true,
  schema: kindSchema(fields.schema),
  columns: [
    {
      name: "Service",
      type: "string",
      value: (object) => serviceOf(object as ApiService),
    },
    {
      name: "Available",
      type: "string",
      value: (object) => availability(object as ApiService),
    },
    ageColumn,
  ],
  // Bodies of built-in kinds have passed their types by now.
  setDefaults: (object) => {
    const each = object as ApiService;
    const { spec } = each;
    if (spec?.service === undefined) return each;
    return { ...each, spec: { ...spec, service: { ...spec.service, port: spec.service.port ?? DEFAULT_PORT } } };
  },
  strategy,
});
