import { describe, expect, it } from "vitest";
import { redactSecrets } from "./redact-secrets.ts";

const members = new Set(["key", "data", "token"]);
const redact = (body: any) => redactSecrets(body, { members, looksSecret: (text) => text.includes("pst_") });

describe("redactSecrets", () => {
  it.each<[string, unknown, unknown]>([
    ["a member", { spec: { key: "s3cret-value", ttl: 1 } }, { spec: { key: "REDACTED", ttl: 1 } }],
    ["members of items", { items: [{ token: "s3cret-value" }] }, { items: [{ token: "REDACTED" }] }],
    ["data, but for its names", { data: { a: "s3cret-a", b: null } }, { data: { a: "REDACTED", b: "REDACTED" } }],
    ["a list", { data: ["a", { b: "c" }] }, { data: "REDACTED" }],
    ["an absent value", { key: null }, { key: null }],
    [
      "what repeats a secret, in a text or as a name",
      { key: "s3cret-value", a: "my s3cret-value", "s3cret-value": 1 },
      { key: "REDACTED", a: "REDACTED", REDACTED: 1 },
    ],
    ["what has the form of one", { a: ["x pst_1 y", "z"] }, { a: ["REDACTED", "z"] }],
    [
      "the manifest that kubectl keeps",
      { metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", a: "b" } } },
      { metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "REDACTED", a: "b" } } },
    ],
    [
      "operations of a patch",
      [
        { op: "add", path: "/spec/key", value: "s3cret-value" },
        { op: "test", path: "/data/x~1y", value: "s3cret-other" },
        { op: "replace", path: "/spec", value: { key: "s3cret-third", ttl: 1 } },
        { op: "add", path: "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration", value: "{}" },
        { op: "add", path: "/metadata/labels/a", value: "s3cret-value" },
        { op: "copy", from: "/spec/key", path: "/spec/a" },
      ],
      [
        { op: "add", path: "/spec/key", value: "REDACTED" },
        { op: "test", path: "/data/x~1y", value: "REDACTED" },
        { op: "replace", path: "/spec", value: { key: "REDACTED", ttl: 1 } },
        {
          op: "add",
          path: "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
          value: "REDACTED",
        },
        { op: "add", path: "/metadata/labels/a", value: "REDACTED" },
        { op: "copy", from: "/spec/key", path: "/spec/a" },
      ],
    ],
    ["nothing else", { n: 1n, ok: true, list: [null] }, { n: 1n, ok: true, list: [null] }],
  ])("takes out %s", (_, body, expected) => {
    expect(redact(body)).toEqual(expected);
  });
});
