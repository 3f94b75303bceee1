import { describe, expect, it } from "vitest";
import { validateKeyedSecret } from "../keyed-secret.ts";
import { projectSecrets } from "./index.ts";

const secretWith = (data: { readonly [key: string]: string }) => ({
  apiVersion: "management.example.com/v1",
  kind: "ProjectSecret",
  metadata: { name: "a", namespace: "p-default" },
  spec: { data },
});

describe("projectsecrets", () => {
  it("are served in namespaces", () => {
    expect(projectSecrets({ managementGroup: "management.example.com" })).toMatchObject({
      kind: "ProjectSecret",
      plural: "projectsecrets",
      namespaced: true,
    });
  });

  it("take keys that Secrets take, up to a mebibyte", () => {
    expect(validateKeyedSecret(secretWith({ "tls.key": "YQ==" }))).toEqual([]);
    expect(validateKeyedSecret(secretWith({ "a/b": "YQ==" }))).toMatchObject([{ field: "spec.data[a/b]" }]);
    const large = Buffer.alloc(1024 * 1024 + 1).toString("base64");
    expect(validateKeyedSecret(secretWith({ a: large }))).toMatchObject([{ field: "spec.data" }]);
  });
});
