import { expect, it } from "vitest";
import { createConversionWebhook } from "./conversion-webhook.ts";
import type { CustomResourceDefinition } from "./custom-resource-definition.ts";

const URL_OF_WEBHOOK = "https://converter.example/";
const definition = {
  spec: {
    conversion: {
      strategy: "Webhook",
      webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: URL_OF_WEBHOOK } },
    },
  },
} as unknown as CustomResourceDefinition;
const host = { apiVersion: "example.com/v1", kind: "Host", metadata: { name: "a" } };

function convertWith(weigh: () => void, answer: string) {
  const converter = createConversionWebhook(definition, {
    caller: { call: async () => answer },
    newUid: () => "uid",
    services: undefined as never,
    endpoints: undefined as never,
  });
  if (converter === undefined) return expect.unreachable();
  const { signal } = new AbortController();
  return converter.convert(
    [host],
    { group: "example.com", version: "v2", kind: "Host" },
    { signal, weigh, pause: () => undefined },
  );
}

it("an answer that is none is the webhook's fault", async () => {
  await expect(convertWith(() => {}, "{")).rejects.toMatchObject({
    code: 500,
    message: expect.stringMatching(
      /^conversion webhook for example.com\/v1, Kind=Host failed: the answer cannot be read/,
    ),
  });
});

it("an error of the server is no fault of the webhook: it is logged as one of the server", async () => {
  const failure = new TypeError("a fault of the server");
  const fail = () => {
    throw failure;
  };
  await expect(convertWith(fail, "{}")).rejects.toBe(failure);
});
