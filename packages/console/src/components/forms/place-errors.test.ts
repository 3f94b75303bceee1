import { ApiError } from "@postern/apimachinery/meta/api-error";
import { expect, it } from "vitest";
import { placeErrors } from "./place-errors.ts";

const refused = (causes: readonly { readonly field: string; readonly message: string; readonly reason?: string }[]) =>
  new ApiError({ code: 422, reason: "Invalid", message: "invalid", details: { causes: [...causes] } });

it("puts each cause beside its field, in plain words where Kubernetes has hard ones", () => {
  const error = refused([
    { field: "metadata.name", message: 'Invalid value: "A b": a lowercase RFC 1123 subdomain must consist of …' },
    { field: "spec.ttl", message: "must be at least 60" },
    { field: "spec.claims[0].value", message: "claims.ref == : not an expression" },
  ]);
  const { at, arePlaced } = placeErrors(error, ["metadata.name", "spec.ttl", "spec.claims"]);
  expect(arePlaced).toBe(true);
  expect(at("metadata.name")).toMatch(/^Use lowercase letters/);
  expect(at("spec.ttl")).toBe("Must be at least 60.");
  expect(at("spec.claims")).toBe("claims.ref == : not an expression");
});

it("keeps the server's words for names with other rules, and says where a cause has no field", () => {
  const name = refused([{ field: "metadata.name", message: 'may not contain "/"' }]);
  expect(placeErrors(name, ["metadata.name"]).at("metadata.name")).toBe('May not contain "/".');
  expect(placeErrors(refused([{ field: "spec.other", message: "no" }]), ["metadata.name"]).arePlaced).toBe(false);
  const taken = new ApiError({ code: 409, reason: "AlreadyExists", message: '"ci" already exists' });
  expect(placeErrors(taken, ["metadata.name"]).at("metadata.name")).toMatch(/taken/);
  expect(placeErrors(null, []).arePlaced).toBe(false);
});
