// Which webhooks a request concerns, and in which version of the object.
// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go (ShouldCallHook), .../matchconditions/matcher.go

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CelLimitError, type CelMeter } from "../../custom-resources/cel/cel-budget.ts";
import type { CelExpression } from "../../custom-resources/cel/cel-expression.ts";
import { CelEvaluationError } from "../../custom-resources/cel/cel-value.ts";
import { evaluateCel } from "../../custom-resources/cel/evaluate-cel.ts";
import type { AdmissionAttributes } from "../../registry/admission-plugin.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { InstalledResource, ResourceRegistry } from "../../registry/resource-registry.ts";
import { compileMatchCondition } from "../compiled-policy.ts";
import { type SeenRequest, seenIn, versionMeant } from "../equivalent-versions.ts";
import { type AccessAnswers, scopeOfRequest } from "../expression-scope.ts";
import type { Webhook, WebhookConfiguration } from "./webhook-configuration.ts";

export type NamedWebhook = {
  readonly configuration: string;
  readonly webhook: Webhook;
  readonly conditions: readonly { readonly name: string; readonly text: string; readonly expression: CelExpression }[];
};

/** In the order in which they are asked: by the name of their configuration. Compiled once for each revision. */
export function createWebhookList({ view, keys }: InstalledResource): { readonly list: () => readonly NamedWebhook[] } {
  const known = new Map<string, { readonly revision: number; readonly webhooks: readonly NamedWebhook[] }>();
  return {
    list() {
      if (view.size === 0) {
        known.clear();
        return [];
      }
      const present = view.list(keys.prefix);
      if (known.size > present.length) known.clear();
      return present.flatMap((object) => {
        const before = known.get(object.key);
        if (before?.revision === object.revision) return before.webhooks;
        // What the store holds has gone through the schema of its kind.
        const webhooks = compile(object.decode() as WebhookConfiguration);
        known.set(object.key, { revision: object.revision, webhooks });
        return webhooks;
      });
    },
  };
}

const compile = ({ metadata, webhooks = [] }: WebhookConfiguration): readonly NamedWebhook[] =>
  webhooks.map((webhook) => ({
    configuration: metadata.name ?? "",
    webhook,
    conditions: (webhook.matchConditions ?? []).flatMap(({ name, expression: text }) => {
      const { expression } = compileMatchCondition(text, "");
      return expression === undefined ? [] : [{ name, text, expression }];
    }),
  }));

export type Matcher = {
  readonly registry: Pick<ResourceRegistry, "resources">;
  readonly answers: AccessAnswers;
  readonly meter: CelMeter;
};

/** The request as the webhook is shown it; undefined where it does not concern it. Throws 403 where its conditions cannot be evaluated. */
export async function shownTo(
  { webhook, conditions }: NamedWebhook,
  attributes: AdmissionAttributes,
  space: KubeObject | undefined,
  matcher: Matcher,
): Promise<SeenRequest | undefined> {
  const seenAs = versionFor(webhook, attributes, space, matcher);
  if (seenAs === undefined) return undefined;
  const seen = seenIn(attributes, seenAs);
  if (conditions.length === 0) return seen;
  const { answers } = matcher;
  const holds = await answers.evaluate(() => evaluateConditions(webhook, conditions, seen, matcher));
  return holds ? seen : undefined;
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
function evaluateConditions(
  { failurePolicy }: Webhook,
  conditions: NamedWebhook["conditions"],
  { attributes, seenAs }: SeenRequest,
  { answers: { ask }, meter }: Matcher,
): boolean {
  const names = scopeOfRequest(attributes, ask, seenAs);
  const faults: string[] = [];
  for (const { text, expression } of conditions) {
    try {
      if (evaluateCel(expression, { names, meter }) !== true) return false;
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
