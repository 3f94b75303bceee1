// Calls the admission webhooks of a cluster: mutating webhooks one after another, validating webhooks in parallel.
// Source: k8s.io/apiserver/pkg/admission/plugin/webhook/{mutating,validating}/dispatcher.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { ApiError, badRequestError, isApiError, timeoutError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { applyJsonPatch } from "@postern/apimachinery/patch/apply-json-patch";
import { decodeJsonPatchLoosely, MAX_JSON_PATCH_OPERATIONS } from "@postern/apimachinery/patch/decode-json-patch";
import { JsonPatchError, PatchDecodeError } from "@postern/apimachinery/patch/patch-errors";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { NamespaceLookup } from "@postern/apiserver/admission/namespace-lifecycle";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { systemUser } from "@postern/apiserver/context/system-context";
import { checkValues } from "@postern/apiserver/endpoints/decode/parse-body";
import type { WebhookCall, WebhookMetrics } from "@postern/apiserver/metrics/webhook-metrics";
import type { AdmissionAttributes, AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { callFailure, resolveEndpoint, type ServiceViews } from "../../webhooks/resolve-endpoint.ts";
import { REVIEW_VERSIONS } from "../../webhooks/validate-client.ts";
import { WebhookCallError, type WebhookCaller } from "../../webhooks/webhook-caller.ts";
import type { AnnotateEvent } from "../annotate-event.ts";
import { readChanged } from "../changed-object.ts";
import { equivalentsOf, type SeenRequest } from "../equivalent-versions.ts";
import { COST_PER_REQUEST } from "../evaluate-expression.ts";
import { createAccessAnswers } from "../expression-scope.ts";
import { ADMISSION_GROUP } from "../validating-admission-policy.ts";
import { type ReviewAnswer, type ReviewVersion, readAnswer, rejectionOf, reviewTextFor } from "./admission-review.ts";
import { createWebhookList, type Matcher, type NamedWebhook, requestForWebhook } from "./matching-webhooks.ts";

export type WebhookAdmissionDeps = ServiceViews & {
  readonly mutating: InstalledResource;
  readonly validating: InstalledResource;
  readonly registry: Pick<ResourceRegistry, "resources">;
  readonly namespaces: NamespaceLookup;
  readonly authorizer: Authorizer;
  readonly caller: WebhookCaller;
  readonly annotateEvent: AnnotateEvent;
  readonly newUid: () => string;
  /** Milliseconds of a clock that never goes back. */
  readonly elapsed: () => number;
  /** Absent: nothing is counted. */
  readonly metrics?: WebhookMetrics | undefined;
};

/** Checking one webhook costs as much as parsing this many bytes. */
const BYTES_OF_WEBHOOK = 1_024;
/** Most webhooks called for one request; a request that matches more is refused. */
const MAX_CALLS = 50;
const MAX_ANNOTATIONS = 20;
const MAX_ANNOTATION_LENGTH = 10 << 10;
const MUTATION = "mutation.webhook.admission.k8s.io/";
const VALIDATION = "validating.webhook.admission.k8s.io/";

/** Costs only two lookups without webhooks. The server's own requests are not sent to webhooks: see ADR 72. */
export function createWebhookAdmission(deps: WebhookAdmissionDeps): AdmissionPlugin {
  const { registry, namespaces, authorizer } = deps;
  const mutating = createWebhookList(deps.mutating);
  const validating = createWebhookList(deps.validating);

  const concerns = ({ resource, context }: AdmissionAttributes): boolean =>
    resource.group !== ADMISSION_GROUP && context.user !== systemUser;
  const matcherFor = ({ context }: AdmissionAttributes): Matcher => ({
    registry,
    evaluation: { answers: createAccessAnswers(context, authorizer), left: { cost: COST_PER_REQUEST } },
  });
  /** Undefined where none can concern the request. */
  const listed = async (
    { view }: InstalledResource,
    list: ReturnType<typeof createWebhookList>,
    attributes: AdmissionAttributes,
  ): Promise<readonly NamedWebhook[]> => {
    if (view.size === 0 || !concerns(attributes)) return [];
    const index = await attributes.context.inParts(list());
    const { resource } = attributes;
    const found = index.candidates(attributes, [resource, ...equivalentsOf(resource, registry)]);
    attributes.context.weigh(found.length * BYTES_OF_WEBHOOK);
    return found;
  };
  const spaceOf = async ({ namespace, context }: AdmissionAttributes): Promise<KubeObject | undefined> =>
    namespace === "" ? undefined : (namespaces.cached(namespace) ?? (await namespaces.live(namespace, context.signal)));

  return {
    name: "AdmissionWebhooks",

    async admit(attributes) {
      const webhooks = await listed(deps.mutating, mutating, attributes);
      if (webhooks.length === 0) return attributes.object;
      return await mutate(webhooks, attributes, await spaceOf(attributes), matcherFor(attributes), deps);
    },

    async validate(attributes) {
      const webhooks = await listed(deps.validating, validating, attributes);
      if (webhooks.length === 0) return;
      const [space, matcher] = [await spaceOf(attributes), matcherFor(attributes)];
      const relevant: { readonly named: NamedWebhook; readonly seen: SeenRequest }[] = [];
      for (const named of webhooks) {
        const seen = await requestForWebhook(named, attributes, space, matcher);
        if (seen !== undefined) relevant.push({ named, seen });
      }
      checkCount(relevant.length);
      if (relevant.length === 0) return;
      const ask = createQuestions("validating", deps);
      const outcomes = await outside(attributes, () =>
        Promise.allSettled(relevant.map(({ named, seen }) => ask(named, seen))),
      );
      for (const [index, outcome] of outcomes.entries()) {
        const { named } = relevant[index] ?? {};
        if (named === undefined) continue;
        if (outcome.status === "rejected") {
          failOpen(outcome.reason, named, attributes, `failed-open.${VALIDATION}round_0_index_${index}`);
        } else take(outcome.value, named, attributes, deps);
      }
    },
  };
}

/** In rounds, like upstream: the second round calls webhooks again if the object has changed after their call. */
async function mutate(
  webhooks: readonly NamedWebhook[],
  attributes: AdmissionAttributes,
  space: KubeObject | undefined,
  matcher: Matcher,
  deps: WebhookAdmissionDeps,
): Promise<KubeObject | undefined> {
  const ask = createQuestions("admit", deps);
  let current = attributes;
  let calls = 0;
  let hasChanged = false;
  let askedBefore = new Set<NamedWebhook>();
  const again = new Set<NamedWebhook>();

  const round = async (number: number): Promise<void> => {
    for (const [index, named] of webhooks.entries()) {
      if (number > 0 && !again.has(named)) continue;
      const seen = await requestForWebhook(named, current, space, matcher);
      if (seen === undefined) continue;
      checkCount(++calls);
      const place = `round_${number}_index_${index}`;
      const changed = await askOne(named, seen, place);
      if (changed !== undefined) {
        current = { ...current, object: changed };
        hasChanged = true;
        for (const each of askedBefore) again.add(each);
        askedBefore = new Set();
      }
      annotate(current, `${MUTATION}${place}`, {
        configuration: named.configuration,
        webhook: named.webhook.name,
        mutated: changed !== undefined,
      });
      if (named.webhook.reinvocationPolicy === "IfNeeded") askedBefore.add(named);
    }
  };

  /** The object as the webhook has changed it; undefined where it has not. */
  const askOne = async (named: NamedWebhook, seen: SeenRequest, place: string): Promise<KubeObject | undefined> => {
    try {
      const answer = await outside(current, () => ask(named, seen));
      take(answer, named, current, deps);
      return answer.patch === undefined ? undefined : await patched(answer.patch, named, seen, current);
    } catch (error) {
      failOpen(error, named, current, `failed-open.${MUTATION}${place}`);
      return undefined;
    }
  };

  await round(0);
  if (hasChanged && again.size > 0) await round(1);
  return current.object;
}

/** Others have the request's place meanwhile. */
const outside = <T>({ context }: AdmissionAttributes, work: () => Promise<T>): Promise<T> =>
  context.outside === undefined ? work() : context.outside(work);

function checkCount(count: number): void {
  if (count > MAX_CALLS) {
    throw internalErrorOf(`more than ${MAX_CALLS} admission webhooks match the request`);
  }
}

/** Upstream shows the inner error. */
const internalErrorOf = (why: string, cause?: unknown): ApiError =>
  new ApiError({
    code: 500,
    reason: "InternalError",
    message: `Internal error occurred: ${why}`,
    details: { causes: [{ message: why }] },
    cause,
  });

type Ask = (named: NamedWebhook, seen: SeenRequest) => Promise<ReviewAnswer>;
/** As upstream's metrics name them. */
type WebhookType = WebhookCall["type"];

/** Texts are made once for each form in which the same request is seen. */
function createQuestions(type: WebhookType, { caller, newUid, metrics, elapsed, ...views }: WebhookAdmissionDeps): Ask {
  const texts = new Map<KubeObject | undefined, Map<ResourceDefinition, ReturnType<typeof reviewTextFor>>>();
  const textFor = ({ attributes, seenAs }: SeenRequest): ReturnType<typeof reviewTextFor> => {
    const ofObject = texts.get(attributes.object) ?? new Map();
    texts.set(attributes.object, ofObject);
    const made = ofObject.get(seenAs) ?? reviewTextFor(attributes, seenAs);
    ofObject.set(seenAs, made);
    return made;
  };
  const ask: Ask = async ({ webhook }, seen) => {
    const { name, sideEffects = "", admissionReviewVersions = [], timeoutSeconds = 10 } = webhook;
    const { context, dryRun } = seen.attributes;
    if (dryRun && sideEffects !== "None" && sideEffects !== "NoneOnDryRun") {
      throw badRequestError(`admission webhook ${quoteGo(name)} does not support dry run`);
    }
    // Only texts of REVIEW_VERSIONS come through.
    const version = admissionReviewVersions.find((each) => REVIEW_VERSIONS.includes(each)) as ReviewVersion | undefined;
    if (version === undefined) {
      throw new WebhookCallError(
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
      );
    }
    const uid = newUid();
    try {
      const text = await caller.call(resolveEndpoint(webhook, views), textFor(seen)(version, uid), {
        timeoutMs: timeoutSeconds * 1_000,
        signal: context.signal,
      });
      return readAnswer(text, { version, uid, isMutating: type === "admit" });
    } catch (error) {
      if (!(error instanceof WebhookCallError) || isComplete(error)) throw error;
      throw new WebhookCallError(`failed to call webhook: ${callFailure(webhook, error)}`, { cause: error });
    }
  };
  return metrics === undefined ? ask : counted(ask, type, { metrics, elapsed });
}

/** The same questions, with what becomes of each counted. */
function counted(
  ask: Ask,
  type: WebhookType,
  { metrics, elapsed }: Pick<Required<WebhookAdmissionDeps>, "elapsed"> & { readonly metrics: WebhookMetrics },
): Ask {
  return async (named, seen) => {
    const startedAt = elapsed();
    const operation = seen.attributes.operation.toUpperCase();
    const count = (code: number, rejection: WebhookCall["rejection"]): void =>
      metrics.asked({ type, operation, seconds: (elapsed() - startedAt) / 1_000, code, rejection });
    const { name, failurePolicy } = named.webhook;
    try {
      const answer = await ask(named, seen);
      if (answer.allowed) count(200, undefined);
      else count(rejectionOf(name, answer.result).code, "no_error");
      return answer;
    } catch (error) {
      const isCall = error instanceof WebhookCallError;
      const isIgnored = isCall && failurePolicy === "Ignore";
      count(500, isIgnored ? undefined : isCall ? "calling_webhook_error" : "apiserver_internal_error");
      if (isIgnored) metrics.failedOpen(type);
      throw error;
    }
  };
}

/** Said of an answer, not of the way to it. */
const isComplete = ({ message }: WebhookCallError): boolean =>
  /^(received invalid webhook response|failed to call webhook|unsupported patch type)/.test(message);

/** Throws the refusal, if it is one. */
function take(
  answer: ReviewAnswer,
  { webhook: { name } }: NamedWebhook,
  { context }: AdmissionAttributes,
  { annotateEvent }: Pick<WebhookAdmissionDeps, "annotateEvent">,
): void {
  for (const [key, value] of answer.auditAnnotations.slice(0, MAX_ANNOTATIONS)) {
    annotateEvent(context, name, key.slice(0, 63), value.slice(0, MAX_ANNOTATION_LENGTH));
  }
  for (const warning of answer.warnings) context.warnings.add(warning);
  if (!answer.allowed) throw rejectionOf(name, answer.result);
}

/** Throws what the client is answered, unless the webhook could not be asked and that is to be ignored. */
function failOpen(
  error: unknown,
  { webhook: { name, failurePolicy } }: NamedWebhook,
  { context }: AdmissionAttributes,
  annotation: string,
): void {
  if (!(error instanceof WebhookCallError)) throw error;
  if (context.signal.aborted) throw timeoutError("request did not complete within requested timeout");
  if (failurePolicy !== "Ignore")
    throw internalErrorOf(`failed calling webhook ${quoteGo(name)}: ${error.message}`, error);
  context.audit.annotate(annotation, name);
}

function annotate({ context }: AdmissionAttributes, key: string, value: JsonObject): void {
  context.audit.annotate(key, stringifyJson(value));
}

/** Undefined where the patch changes nothing. The patched object is read as a body would be, without fields that its schema does not know. */
async function patched(
  patch: string,
  { webhook: { name } }: NamedWebhook,
  { attributes: { object }, seenAs, back }: SeenRequest,
  { object: before }: AdmissionAttributes,
): Promise<KubeObject | undefined> {
  const refuse = (why: string, cause?: unknown) => internalErrorOf(`admission webhook ${quoteGo(name)}: ${why}`, cause);
  try {
    checkValues(patch);
    const operations = decodeJsonPatchLoosely(patch);
    if (operations.length === 0) return undefined;
    if (object === undefined || before === undefined) {
      throw internalErrorOf(
        `admission webhook ${quoteGo(name)} attempted to modify the object, which is not supported for this operation`,
      );
    }
    if (operations.length > MAX_JSON_PATCH_OPERATIONS) {
      throw refuse(`its patch has more than ${MAX_JSON_PATCH_OPERATIONS} operations`);
    }
    const changed = applyJsonPatch(object, operations);
    return await readChanged(changed, { object, seenAs, back }, before, (why) => refuse(`its patch ${why}`));
  } catch (error) {
    if (error instanceof PatchDecodeError) {
      throw new WebhookCallError(`received undecodable patch in webhook response: ${error.message}`);
    }
    if (error instanceof JsonPatchError) throw internalErrorOf(error.message, error);
    if (isApiError(error, "RequestEntityTooLarge"))
      throw refuse(`the patched object is too large: ${error.message}`, error);
    throw error;
  }
}
