// The webhooks to call for a request, and the version of the object that each receives.
// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go (ShouldCallHook), .../matchconditions/matcher.go

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import { CelLimitError } from "@postern/cel/cel-budget";
import { CelEvaluationError } from "@postern/cel/cel-value";
import type { CachedObject } from "../../cache/cached-object.ts";
import type { AdmissionAttributes } from "../../registry/admission-plugin.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { InstalledResource, ResourceRegistry } from "../../registry/resource-registry.ts";
import { compileMatchCondition } from "../compiled-policy.ts";
import { createEvaluate, type NamedExpression, type RequestEvaluation } from "../evaluate-expression.ts";
import { type SeenRequest, seenIn, versionMeant } from "../match-resources.ts";
import type { Webhook, WebhookConfiguration } from "./webhook-configuration.ts";

export type NamedWebhook = {
  readonly configuration: string;
  readonly webhook: Webhook;
  readonly conditions: readonly NamedExpression[];
};

/** In the order in which they are asked: by the name of their configuration. Each is compiled once for each revision, in a step of its own. */
export function createWebhookList({ view, keys }: InstalledResource): {
  readonly list: () => Steps<readonly NamedWebhook[]>;
} {
  const known = new WeakMap<CachedObject, readonly NamedWebhook[]>();
  return {
    *list() {
      const all: NamedWebhook[] = [];
      for (const object of view.size === 0 ? [] : view.list(keys.prefix)) {
        // What the store holds has gone through the schema of its kind.
        const webhooks = known.get(object) ?? (yield* compile(object.decode() as WebhookConfiguration));
        known.set(object, webhooks);
        all.push(...webhooks);
      }
      return all;
    },
  };
}

function* compile({ metadata, webhooks = [] }: WebhookConfiguration): Steps<readonly NamedWebhook[]> {
  const compiled: NamedWebhook[] = [];
  for (const webhook of webhooks) {
    const conditions: NamedExpression[] = [];
    for (const { name, expression: text } of webhook.matchConditions ?? []) {
      yield;
      const { expression } = compileMatchCondition(text, "");
      if (expression !== undefined) conditions.push({ name, text, expression });
    }
    compiled.push({ configuration: metadata.name ?? "", webhook, conditions });
  }
  return compiled;
}

export type Matcher = {
  readonly registry: Pick<ResourceRegistry, "resources">;
  readonly evaluation: RequestEvaluation;
};

/** The request as the webhook is shown it; undefined where it does not concern it. Throws 403 where its conditions cannot be evaluated. */
export async function shownTo(
  { webhook, conditions }: NamedWebhook,
  attributes: AdmissionAttributes,
  space: KubeObject | undefined,
  matcher: Matcher,
): Promise<SeenRequest | undefined> {
  await attributes.context.pause();
  const seenAs = versionFor(webhook, attributes, space, matcher);
  if (seenAs === undefined) return undefined;
  const seen = await seenIn(attributes, seenAs, matcher.registry);
  if (conditions.length === 0) return seen;
  return (await evaluateConditions(webhook, conditions, seen, matcher)) ? seen : undefined;
}

function versionFor(
  { rules = [], matchPolicy, namespaceSelector, objectSelector }: Webhook,
  attributes: AdmissionAttributes,
  space: KubeObject | undefined,
  { registry }: Matcher,
): ResourceDefinition | undefined {
  if (rules.length === 0) return undefined;
  const match = {
    resourceRules: rules,
    ...(matchPolicy === undefined ? {} : { matchPolicy }),
    ...(namespaceSelector === undefined ? {} : { namespaceSelector }),
    ...(objectSelector === undefined ? {} : { objectSelector }),
  };
  return versionMeant(match, attributes, space, registry);
}

/** One that does not hold decides, also where others cannot be evaluated. */
async function evaluateConditions(
  { failurePolicy }: Webhook,
  conditions: NamedWebhook["conditions"],
  { attributes, seenAs }: SeenRequest,
  { evaluation }: Matcher,
): Promise<boolean> {
  const evaluate = createEvaluate({ attributes, seenAs }, evaluation);
  const faults: string[] = [];
  for (const condition of conditions) {
    const { text } = condition;
    try {
      if ((await evaluate(condition)) !== true) return false;
    } catch (error) {
      if (!(error instanceof CelEvaluationError) && !(error instanceof CelLimitError)) throw error;
      faults.push(`expression '${text}' resulted in error: ${error.message}`);
      if (error instanceof CelLimitError) break;
    }
  }
  if (faults.length === 0) return true;
  if (failurePolicy === "Ignore") return false;
  const { resource, name } = attributes;
  const why = faults.length === 1 ? faults.join("") : `[${faults.join(", ")}]`;
  throw forbiddenRequestError({ group: resource.group, resource: resource.plural }, name, why);
}
