// Converts custom resources with the webhook in their definition.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { type ApiError, timeoutError, untypedError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ConversionCaller, ObjectConverter } from "@postern/apiserver/registry/object-converter";
import { readWebhookBody } from "../webhooks/read-webhook-body.ts";
import { callFailure, resolveEndpoint, type ServiceViews } from "../webhooks/resolve-endpoint.ts";
import { REVIEW_VERSIONS } from "../webhooks/validate-client.ts";
import { WebhookCallError, type WebhookCaller } from "../webhooks/webhook-caller.ts";
import { checkedObject, convertedObjects, ReviewError, type ReviewRequest, reviewText } from "./conversion-review.ts";
import type { CustomResourceDefinition } from "./custom-resource-definition.ts";

export type ConversionWebhookDeps = ServiceViews & {
  readonly caller: WebhookCaller;
  readonly newUid: () => string;
};

/** As upstream's. */
const TIMEOUT_SECONDS = 30;

/** Undefined if the definition has no webhook. */
export function createConversionWebhook(
  { spec: { conversion } }: CustomResourceDefinition,
  { caller: webhooks, newUid, ...views }: ConversionWebhookDeps,
): ObjectConverter | undefined {
  const { strategy, webhook } = conversion ?? {};
  if (strategy !== "Webhook" || webhook === undefined) return undefined;
  const { clientConfig = {}, conversionReviewVersions = [] } = webhook;
  const target = { clientConfig, timeoutSeconds: TIMEOUT_SECONDS };
  const version = conversionReviewVersions.find((each) => REVIEW_VERSIONS.includes(each));

  async function ask(request: ReviewRequest, caller: ConversionCaller): Promise<JsonObject> {
    const { signal } = caller;
    const text = reviewText(request);
    caller.weigh(text.length);
    try {
      const answer = await webhooks.call(resolveEndpoint(target, views), text, {
        timeoutMs: TIMEOUT_SECONDS * 1_000,
        signal,
      });
      caller.weigh(answer.length);
      await caller.pause();
      return readWebhookBody(answer, (why) => new ReviewError(`failed: ${why}`));
    } catch (error) {
      if (signal.aborted) throw timeoutError("request did not complete within requested timeout");
      if (!(error instanceof WebhookCallError)) throw error;
      throw new ReviewError(`failed: ${callFailure(target, error)}`, { cause: error });
    }
  }

  return {
    async convert(objects, to, caller) {
      const [first] = objects;
      if (first === undefined) return [];
      if (version === undefined) throw untypedError("no supported conversion review versions");
      const apiVersion = formatApiVersion(to);
      const request = { version, uid: newUid(), desiredAPIVersion: apiVersion, objects };
      try {
        const answers = convertedObjects(await ask(request, caller), request);
        if (answers.length !== objects.length) {
          throw new ReviewError(`returned ${answers.length} objects, expected ${objects.length}`);
        }
        const converted: KubeObject[] = [];
        for (const [index, original] of objects.entries()) {
          await caller.pause();
          const place = { index: objects.length === 1 ? undefined : index, apiVersion };
          converted.push(checkedObject(answers[index] ?? null, original, place));
        }
        return converted;
      } catch (error) {
        throw error instanceof ReviewError ? conversionError(first, error) : error;
      }
    },
  };
}

const conversionError = ({ apiVersion, kind }: KubeObject, error: ReviewError): ApiError =>
  untypedError(`conversion webhook for ${apiVersion}, Kind=${kind} ${error.message}`, error);
