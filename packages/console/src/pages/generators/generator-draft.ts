// The draft of a kubeconfig generator in its form, and the spec that follows from it.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { type Names, NO_NAMES, namesOf } from "../../components/forms/name-fields.tsx";
import { namesIn } from "../../format/text-lists.ts";
import { projectOf } from "../../settings.ts";

export const FORMATS = ["Kubeconfig", "ArgoCD", "Flux"] as const;
/** Seconds; the second one is the default of the server. */
export const TTLS = ["3600", "86400", "604800", "2678400"] as const;

/** A label or annotation. */
export type LabelRow = { readonly key: string; readonly value: string };

export type GeneratorDraft = Names & {
  readonly project: string;
  /** Virtual clusters must have them. */
  readonly labels: readonly LabelRow[];
  readonly isReadOnly: boolean;
  /** Seconds; "" for the default of the server. */
  readonly ttl: string;
  readonly format: (typeof FORMATS)[number];
  /** "": the name of the generator. */
  readonly secret: string;
  readonly secretLabels: readonly LabelRow[];
  readonly annotations: readonly LabelRow[];
  /** Keys, separated by commas. */
  readonly copyLabels: string;
  readonly argoProject: string;
  /** Names, separated by commas. */
  readonly argoNamespaces: string;
  readonly argoClusterResources: boolean;
  /** A number; "": Argo CD chooses it. */
  readonly argoShard: string;
};

export const EMPTY_GENERATOR: GeneratorDraft = {
  ...NO_NAMES,
  project: "",
  labels: [],
  isReadOnly: false,
  ttl: "",
  format: "Kubeconfig",
  secret: "",
  secretLabels: [],
  annotations: [],
  copyLabels: "",
  argoProject: "",
  argoNamespaces: "",
  argoClusterResources: false,
  argoShard: "",
};

type Labels = { readonly [key: string]: string };

const rowsOf = (labels: Labels = {}): readonly LabelRow[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value }));

const labelsOf = (rows: readonly LabelRow[]): Labels =>
  Object.fromEntries(rows.filter(({ key }) => key.trim() !== "").map(({ key, value }) => [key.trim(), value.trim()]));

export function generatorDraftOf(generator: KubeconfigGenerator): GeneratorDraft {
  const { selector, role, ttlSeconds, format = "Kubeconfig", secretRef } = generator.spec;
  const { secretTemplate = {}, argoCD = {} } = generator.spec;
  return {
    ...namesOf(generator),
    project: projectOf(generator.metadata.namespace ?? ""),
    labels: rowsOf(selector.matchLabels),
    isReadOnly: role === "view",
    ttl: ttlSeconds === undefined ? "" : String(ttlSeconds),
    format,
    secret: secretRef.name,
    secretLabels: rowsOf(secretTemplate.labels),
    annotations: rowsOf(secretTemplate.annotations),
    copyLabels: (secretTemplate.copyLabels ?? []).join(", "),
    argoProject: argoCD.project ?? "",
    argoNamespaces: (argoCD.namespaces ?? []).join(", "),
    argoClusterResources: argoCD.clusterResources === true,
    argoShard: argoCD.shard === undefined ? "" : String(argoCD.shard),
  };
}

/** An empty selector is kept, because it selects all virtual clusters. */
export function generatorSpecOf(draft: GeneratorDraft): JsonObject {
  const { name, displayName, description, labels, isReadOnly, ttl, format, secret } = draft;
  const matchLabels = labelsOf(labels);
  return {
    ...withoutEmpty({ displayName, description }),
    selector: Object.keys(matchLabels).length === 0 ? {} : { matchLabels },
    ...withoutEmpty({ role: isReadOnly ? "view" : "", ttlSeconds: ttl === "" ? undefined : Number(ttl) }),
    ...(format === "Kubeconfig" ? {} : { format }),
    secretRef: { name: secret.trim() || name },
    ...(format === "ArgoCD" ? withoutEmpty({ argoCD: argoOf(draft) }) : {}),
    ...templateOf(draft),
  };
}

const argoOf = ({ argoProject, argoNamespaces, argoClusterResources, argoShard }: GeneratorDraft): JsonObject =>
  withoutEmpty({
    project: argoProject.trim(),
    namespaces: namesIn(argoNamespaces),
    clusterResources: argoClusterResources,
    shard: argoShard === "" ? undefined : Number(argoShard),
  });

/** Values of labels may be empty. The one Secret of all virtual clusters copies no labels. */
function templateOf({ format, secretLabels, annotations, copyLabels }: GeneratorDraft): JsonObject {
  const copied = format === "Kubeconfig" ? [] : namesIn(copyLabels);
  const members = { labels: labelsOf(secretLabels), annotations: labelsOf(annotations), copyLabels: copied };
  const secretTemplate = Object.fromEntries(
    Object.entries(members).filter(([, given]) => Object.keys(given).length > 0),
  );
  return Object.keys(secretTemplate).length === 0 ? {} : { secretTemplate };
}

/** As kubectl writes selectors: `env=dev,tier in (a,b)`. */
export function selectorText({
  matchLabels = {},
  matchExpressions = [],
}: KubeconfigGenerator["spec"]["selector"]): string {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    }),
  ].join(",");
}
