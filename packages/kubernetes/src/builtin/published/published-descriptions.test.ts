import { expect, test } from "vitest";
import { publishedDescriptions } from "./published-descriptions.ts";

test("has whole descriptions of types and members, with the values of enums", () => {
  const pod = publishedDescriptions("io.k8s.api.core.v1.PodSpec");
  expect(pod?.type).toBe("PodSpec is a description of a pod.");
  expect(pod?.members["restartPolicy"]).toBe(
    [
      "Restart policy for all containers within the pod. One of Always, OnFailure, Never. In some contexts, only a subset of those values may be permitted. Default to Always. More info: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy",
      "",
      "Possible enum values:",
      ' - `"Always"`',
      ' - `"Never"`',
      ' - `"OnFailure"`',
    ].join("\n"),
  );
});

test("says that a member has no description", () => {
  expect(publishedDescriptions("io.k8s.api.certificates.v1.CertificateSigningRequest")?.members["metadata"]).toBe("");
});

test("leaves types of other APIs to their schemas", () => {
  expect(publishedDescriptions("com.example.v1.Widget")).toBeUndefined();
  expect(publishedDescriptions("io.k8s.api.storagemigration.v1beta1.StorageVersionMigration")).toBeUndefined();
});
