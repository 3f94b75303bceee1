// Validates webhook configurations.
// Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go, k8s.io/apiserver/pkg/util/webhook/validation.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { Steps } from "@postern/apimachinery/steps/steps";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import { choiceFaults, qualifiedFaults } from "../../builtin/field-checks.ts";
import { REVIEW_VERSIONS, validateReviewVersions, validateWebhookClient } from "../../webhooks/validate-client.ts";
import { compileMatchCondition } from "../compiled-policy.ts";
import { MAX_MATCH_CONDITIONS } from "../policy-names.ts";
import { OPERATIONS } from "../validate-match-resources.ts";
import type { Webhook, WebhookConfiguration, WebhookRule } from "./webhook-configuration.ts";

const FAILURE_POLICIES = ["Fail", "Ignore"];
const MATCH_POLICIES = ["Equivalent", "Exact"];
const SIDE_EFFECTS = ["None", "NoneOnDryRun"];
const REINVOCATIONS = ["IfNeeded", "Never"];
const SCOPES = ["*", "Cluster", "Namespaced"];
/** Webhooks of one configuration. Upstream has no limit; here every write looks at each of them, on the thread that serves all clusters. */
const MAX_WEBHOOKS = 100;

export function* validateWebhooks(
  { webhooks = [] }: WebhookConfiguration,
  old?: WebhookConfiguration,
): Steps<readonly FieldError[]> {
  if (webhooks.length > MAX_WEBHOOKS) return [tooManyError("webhooks", webhooks.length, MAX_WEBHOOKS)];
  const names = webhooks.map(({ name }) => name);
  const faults: FieldError[] = [];
  for (const [index, webhook] of webhooks.entries()) {
    yield;
    const path = indexPath("webhooks", index);
    const isTwice = webhook.name !== "" && names.indexOf(webhook.name) < index;
    const before = old?.webhooks?.[index];
    faults.push(
      ...(yield* validateWebhook(webhook, path, before)),
      ...validateReviewVersions(
        webhook.admissionReviewVersions ?? [],
        `${path}.admissionReviewVersions`,
        `must specify one of ${REVIEW_VERSIONS.join(", ")}`,
      ),
      ...(isTwice ? [duplicateError(`${path}.name`, webhook.name)] : []),
    );
  }
  return faults;
}

function* validateWebhook(webhook: Webhook, path: string, before: Webhook | undefined): Steps<readonly FieldError[]> {
  const { name, rules = [], sideEffects, timeoutSeconds = 10, namespaceSelector, objectSelector } = webhook;
  // Expressions that have not changed are not compiled again.
  const conditions = equalJson(webhook.matchConditions, before?.matchConditions) ? [] : (webhook.matchConditions ?? []);
  return [
    ...validateFullName(name, `${path}.name`),
    ...rules.flatMap((rule, index) => validateRule(rule, indexPath(`${path}.rules`, index))),
    ...choiceFaults(`${path}.failurePolicy`, webhook.failurePolicy, FAILURE_POLICIES),
    ...choiceFaults(`${path}.matchPolicy`, webhook.matchPolicy, MATCH_POLICIES),
    ...(sideEffects === undefined
      ? [requiredError(`${path}.sideEffects`, `must specify one of ${SIDE_EFFECTS.join(", ")}`)]
      : choiceFaults(`${path}.sideEffects`, sideEffects, SIDE_EFFECTS)),
    ...(timeoutSeconds > 30 || timeoutSeconds < 1
      ? [invalidError(`${path}.timeoutSeconds`, timeoutSeconds, "the timeout value must be between 1 and 30 seconds")]
      : []),
    ...validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`),
    ...validateLabelSelector(objectSelector, `${path}.objectSelector`),
    ...choiceFaults(`${path}.reinvocationPolicy`, webhook.reinvocationPolicy, REINVOCATIONS),
    ...validateWebhookClient(webhook.clientConfig, `${path}.clientConfig`),
    ...(yield* validateConditions(conditions, `${path}.matchConditions`)),
  ];
}

function validateFullName(name: string, path: string): readonly FieldError[] {
  if (name === "") return [requiredError(path)];
  const faults = isDNS1123Subdomain(name);
  if (faults.length > 0) return [invalidError(path, name, faults.join(","))];
  if (name.split(".").length >= 3) return [];
  return [invalidError(path, name, "should be a domain with at least three segments separated by dots")];
}

function validateRule(rule: WebhookRule, path: string): readonly FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  return [
    ...(operations.length === 0 ? [requiredError(`${path}.operations`)] : []),
    ...alone(operations, `${path}.operations`, "operations"),
    ...operations.flatMap((operation, index) =>
      choiceFaults(indexPath(`${path}.operations`, index), operation, OPERATIONS),
    ),
    ...(apiGroups.length === 0 ? [requiredError(`${path}.apiGroups`)] : []),
    ...alone(apiGroups, `${path}.apiGroups`, "API groups"),
    ...(apiVersions.length === 0 ? [requiredError(`${path}.apiVersions`)] : []),
    ...alone(apiVersions, `${path}.apiVersions`, "API versions"),
    ...apiVersions.flatMap((version, index) =>
      version === "" ? [requiredError(indexPath(`${path}.apiVersions`, index))] : [],
    ),
    ...validateResources(resources, `${path}.resources`),
    ...choiceFaults(`${path}.scope`, scope, SCOPES),
  ];
}

const alone = (list: readonly string[], path: string, what: string): readonly FieldError[] =>
  list.length > 1 && list.includes("*")
    ? [invalidError(path, [...list], `if '*' is present, must not specify other ${what}`)]
    : [];

function validateResources(resources: readonly string[], path: string): readonly FieldError[] {
  if (resources.length === 0) return [requiredError(path)];
  const faults: FieldError[] = [];
  const [wholes, parts] = [new Set<string>(), new Set<string>()];
  for (const [index, text] of resources.entries()) {
    const at = indexPath(path, index);
    if (text === "") faults.push(requiredError(at));
    const slash = text.indexOf("/");
    if (slash === -1) continue;
    const [resource, part] = [text.slice(0, slash), text.slice(slash + 1)];
    if (wholes.has(resource))
      faults.push(invalidError(at, text, `if '${resource}/*' is present, must not specify ${text}`));
    if (parts.has(part)) faults.push(invalidError(at, text, `if '*/${part}' is present, must not specify ${text}`));
    if (part === "*") wholes.add(resource);
    if (resource === "*") parts.add(part);
  }
  if (resources.length > 1 && resources.includes("*/*"))
    faults.push(invalidError(path, [...resources], "if '*/*' is present, must not specify other resources"));
  if (resources.includes("*") && resources.some((text) => text !== "*" && !text.includes("/")))
    faults.push(
      invalidError(path, [...resources], "if '*' is present, must not specify other resources without subresources"),
    );
  return faults;
}

/** Each is compiled, in a step of its own. */
function* validateConditions(
  conditions: NonNullable<Webhook["matchConditions"]>,
  path: string,
): Steps<readonly FieldError[]> {
  const names = conditions.map(({ name }) => name);
  const faults: FieldError[] =
    conditions.length > MAX_MATCH_CONDITIONS ? [tooManyError(path, conditions.length, MAX_MATCH_CONDITIONS)] : [];
  for (const [index, { name, expression }] of conditions.entries()) {
    yield;
    const at = indexPath(path, index);
    faults.push(
      ...(expression.trim() === ""
        ? [requiredError(`${at}.expression`)]
        : compileMatchCondition(expression, `${at}.expression`).faults),
      ...(name === "" ? [requiredError(`${at}.name`)] : qualifiedFaults(`${at}.name`, name)),
      ...(name !== "" && names.indexOf(name) < index ? [duplicateError(`${at}.name`, name)] : []),
    );
  }
  return faults;
}
