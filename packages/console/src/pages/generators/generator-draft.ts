// The draft of a kubeconfig generator in its form, and the spec that follows from it.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { type Names, NO_NAMES, namesOf } from "../../components/name-fields.tsx";
import { projectOf } from "../../settings.ts";

export const FORMATS = ["Kubeconfig", "ArgoCD", "Flux"] as const;
/** Seconds; the second one is the default of the server. */
export const TTLS = ["3600", "86400", "604800", "2678400"] as const;

/** A label that virtual clusters must have. */
export type LabelRow = { readonly key: string; readonly value: string };

export type GeneratorDraft = Names & {
  readonly project: string;
  readonly labels: readonly LabelRow[];
  readonly isReadOnly: boolean;
  /** Seconds; "" for the default of the server. */
  readonly ttl: string;
  readonly format: (typeof FORMATS)[number];
  /** "": the name of the generator. */
  readonly secret: string;
};

export const EMPTY_GENERATOR: GeneratorDraft = {
  ...NO_NAMES,
  project: "",
  labels: [],
  isReadOnly: false,
  ttl: "",
  format: "Kubeconfig",
  secret: "",
};

export function generatorDraftOf(generator: KubeconfigGenerator): GeneratorDraft {
  const { selector, role, ttlSeconds, format = "Kubeconfig", secretRef } = generator.spec;
  return {
    ...namesOf(generator),
    project: projectOf(generator.metadata.namespace ?? ""),
    labels: Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({ key, value })),
    isReadOnly: role === "view",
    ttl: ttlSeconds === undefined ? "" : String(ttlSeconds),
    format,
    secret: secretRef.name,
  };
}

/** An empty selector is kept, because it selects all virtual clusters. */
export function generatorSpecOf(draft: GeneratorDraft): JsonObject {
  const { name, displayName, description, labels, isReadOnly, ttl, format, secret } = draft;
  const matchLabels = Object.fromEntries(
    labels.filter(({ key }) => key.trim() !== "").map(({ key, value }) => [key.trim(), value.trim()]),
  );
  return {
    ...withoutEmpty({ displayName, description }),
    selector: Object.keys(matchLabels).length === 0 ? {} : { matchLabels },
    ...withoutEmpty({ role: isReadOnly ? "view" : "", ttlSeconds: ttl === "" ? undefined : Number(ttl) }),
    ...(format === "Kubeconfig" ? {} : { format }),
    secretRef: { name: secret.trim() || name },
  };
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
