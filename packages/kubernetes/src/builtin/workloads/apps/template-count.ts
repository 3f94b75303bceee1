// DaemonSets have an annotation that counts their templates.
// Source: k8s.io/kubernetes/pkg/registry/apps/daemonset/strategy.go, pkg/apis/apps/v1/conversion.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Strategy } from "@postern/apiserver/registry/strategy";

const TEMPLATES = "deprecated.daemonset.template.generation";

type WithTemplate = KubeObject & { readonly spec?: { readonly template?: object | undefined } };

const withCount = <T extends WithTemplate>(object: T, count: number): T => ({
  ...object,
  metadata: {
    ...object.metadata,
    annotations: { ...object.metadata.annotations, [TEMPLATES]: String(count) },
  },
});

/** Upstream shows the annotation before the templates are counted, so that the client that makes the object owns it. */
export const uncounted = <T extends WithTemplate>(object: T): T =>
  object.metadata.annotations?.[TEMPLATES] === undefined ? withCount(object, 0) : object;

/** Sets the count, whatever annotation the client has sent. */
export const countingTemplates = <T extends WithTemplate>(strategy: Strategy<T>): Strategy<T> => ({
  ...strategy,
  prepareForCreate: async (object, context) =>
    withCount((await strategy.prepareForCreate?.(object, context)) ?? object, 1),
  prepareForUpdate: async (object, old, context) => {
    const next = (await strategy.prepareForUpdate?.(object, old, context)) ?? object;
    const template = ({ spec }: T): JsonValue => (spec?.template ?? null) as JsonValue;
    const before = Number(old.metadata.annotations?.[TEMPLATES] ?? 1);
    return withCount(next, equalJson(template(next), template(old)) ? before : before + 1);
  },
});
