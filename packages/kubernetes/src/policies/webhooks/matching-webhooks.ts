// The webhooks to call for a request, and the version of the object that each receives.
// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go (ShouldCallHook), .../matchconditions/matcher.go

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { AdmissionAttributes } from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { Revision } from "@postern/apiserver/storage/storage";
import { CelLimitError } from "@postern/cel/cel-budget";
import { CelEvaluationError } from "@postern/cel/cel-value";
import { compileMatchCondition } from "../compiled-policy.ts";
import { inVersion, matchingVersion, type SeenRequest } from "../equivalent-versions.ts";
import { type CompiledExpression, createEvaluate, type RequestEvaluation } from "../evaluate-expression.ts";
import { MatchIndex } from "../match-index.ts";
import { type CompiledMatch, compileMatch } from "../match-resources.ts";
import type { Webhook, WebhookConfiguration } from "./webhook-configuration.ts";

export type NamedWebhook = {
  readonly configuration: string;
  readonly webhook: Webhook;
  readonly match: CompiledMatch;
  readonly conditions: readonly Condition[];
};

type Condition = CompiledExpression & { readonly text: string };

export type WebhookIndex = MatchIndex<NamedWebhook>;

/**
 * In the order of calls: by the name of their configuration. Each is compiled once per revision, in a step of its own, and all are indexed again
 * after a change.
 */
export function createWebhookList({ view, keys }: InstalledResource): () => Steps<WebhookIndex> {
  const known = new WeakMap<CachedObject, readonly NamedWebhook[]>();
  let made: { readonly revision: Revision; readonly index: WebhookIndex } | undefined;
  return function* () {
    const revision = view.changedRevision;
    if (made?.revision === revision) return made.index;
    const all: NamedWebhook[] = [];
    for (const object of view.size === 0 ? [] : view.list(keys.prefix)) {
      // Stored objects have passed the schema of their kind.
      const webhooks = known.get(object) ?? (yield* compile(object.decode() as WebhookConfiguration));
      known.set(object, webhooks);
      for (const webhook of webhooks) all.push(webhook);
    }
    const index = new MatchIndex(all, ({ webhook }) => webhook.rules ?? []);
    made = { revision, index };
    return index;
  };
}

function* compile({ metadata, webhooks = [] }: WebhookConfiguration): Steps<readonly NamedWebhook[]> {
  const compiled: NamedWebhook[] = [];
  for (const webhook of webhooks) {
    yield;
    const conditions: Condition[] = [];
    for (const { expression: text } of webhook.matchConditions ?? []) {
      yield;
      const { expression } = compileMatchCondition(text, "");
      if (expression !== undefined) conditions.push({ text, expression });
    }
    compiled.push({ configuration: metadata.name ?? "", webhook, match: matchOf(webhook), conditions });
  }
  return compiled;
}

const matchOf = ({ rules = [], matchPolicy, namespaceSelector, objectSelector }: Webhook): CompiledMatch =>
  compileMatch({
    resourceRules: rules,
    ...(matchPolicy === undefined ? {} : { matchPolicy }),
    ...(namespaceSelector === undefined ? {} : { namespaceSelector }),
    ...(objectSelector === undefined ? {} : { objectSelector }),
  });

export type Matcher = {
  readonly registry: Pick<ResourceRegistry, "resources">;
  readonly evaluation: RequestEvaluation;
};

/** The request as the webhook is shown it; undefined where it does not concern it. Throws 403 where its conditions cannot be evaluated. */
export async function requestForWebhook(
  { webhook, match, conditions }: NamedWebhook,
  attributes: AdmissionAttributes,
  space: KubeObject | undefined,
  matcher: Matcher,
): Promise<SeenRequest | undefined> {
  await attributes.context.pause();
  // Without rules, it is about nothing.
  if ((match.resourceRules ?? []).length === 0) return undefined;
  const seenAs = matchingVersion(match, attributes, space, matcher.registry);
  if (seenAs === undefined) return undefined;
  const seen = await inVersion(attributes, seenAs, matcher.registry);
  if (conditions.length === 0) return seen;
  return (await evaluateConditions(webhook, conditions, seen, matcher)) ? seen : undefined;
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
