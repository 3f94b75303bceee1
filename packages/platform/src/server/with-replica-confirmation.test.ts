import { anonymousUser, type UserInfo } from "@postern/apiserver/authentication/user-info";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { expect, it } from "vitest";
import { withReplicaConfirmation } from "./with-replica-confirmation.ts";

/** Whether the answer waits until all servers know. */
function waits(method: string, verb: string, status: number, user: UserInfo = { name: "jane", groups: [] }): boolean {
  let isAsked = false;
  const allKnow = async (): Promise<void> => {
    isAsked = true;
  };
  const call = {
    request: { method },
    user,
    info: { isResourceRequest: true, verb, resource: "users", subresource: "" },
  };
  const response = { status, body: { type: "empty" } } as unknown as ApiResponse;
  // The filter reads nothing else.
  withReplicaConfirmation({ allKnow }).leave?.(response, call as never);
  return isAsked;
}

it.each([
  ["a deletion", "DELETE", "delete", 200],
  ["a collection that is deleted in part", "DELETE", "deletecollection", 500],
  ["a deletion that is sent again", "DELETE", "delete", 404],
  ["an update that another one has overtaken", "PUT", "update", 409],
  ["a change that was made before", "POST", "patch", 422],
  ["a deletion of its own credential that is sent again", "DELETE", "delete", 401],
  ["a deletion of its own permission that is sent again", "DELETE", "delete", 403],
])("%s is answered when all servers know", (_what, method, verb, status) => {
  expect(waits(method, verb, status)).toBe(true);
});

it.each([
  ["a read", "GET", "get", 200],
  ["a creation", "POST", "create", 201],
  ["a creation without permission", "POST", "create", 403],
  ["a request that is not understood", "PATCH", "patch", 400],
])("%s waits for no server", (_what, method, verb, status) => {
  expect(waits(method, verb, status)).toBe(false);
});

it("a request without a credential waits for no server", () => {
  expect(waits("DELETE", "delete", 403, anonymousUser)).toBe(false);
});
