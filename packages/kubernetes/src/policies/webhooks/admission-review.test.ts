// Answers of webhooks as large as they may be: their owner is a tenant, and their texts go into messages.

import { describe, expect, it } from "vitest";
import { readAnswer, rejectionOf } from "./admission-review.ts";

const LARGE = "é\u0001x".repeat(500_000);
const OF_REVIEW = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
const read = (review: object) => readAnswer(JSON.stringify(review), { version: "v1", uid: "u", isMutating: true });

describe("an answer with megabytes", () => {
  it.each([
    ["uid", { ...OF_REVIEW, response: { uid: LARGE, allowed: true } }],
    ["kind", { ...OF_REVIEW, kind: LARGE, response: { uid: "u", allowed: true } }],
    ["apiVersion", { ...OF_REVIEW, apiVersion: LARGE, response: { uid: "u", allowed: true } }],
    ["patchType", { ...OF_REVIEW, response: { uid: "u", allowed: true, patch: "AA", patchType: LARGE } }],
  ])("in place of %s is refused by a short message", (_, review) => {
    let message = "";
    try {
      read(review);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/webhook response|unsupported patch type/);
    expect(message.length).toBeLessThan(5_000);
  });

  it("as explanation of a refusal is cut, with its details", () => {
    const texts = { name: LARGE, causes: Array.from({ length: 200 }, () => ({ message: "y".repeat(10_000) })) };
    const { result } = read({
      ...OF_REVIEW,
      response: { uid: "u", allowed: false, status: { message: LARGE, reason: LARGE, details: texts } },
    });
    const refusal = rejectionOf("w.example.com", result);
    expect(refusal.message.length).toBeLessThan(66_000);
    expect(refusal.message).toContain('admission webhook "w.example.com" denied the request: é');
    expect(JSON.stringify(refusal.details).length).toBeLessThan(200_000);
  });

  it("is shown whole where it is of the length that policies write", () => {
    const message = "the image of container x is not signed\n".repeat(1_000);
    expect(rejectionOf("w", { message }).message).toContain(message);
  });
});
