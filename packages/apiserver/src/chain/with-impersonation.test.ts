import { describe, expect, it } from "vitest";
import { isImpersonationVerb } from "../authorization/authorizer.ts";
import type { Handler } from "../context/request-context.ts";
import { jsonResponse } from "../transport/api-response.ts";
import { http1 } from "../transport/testing/test-clients.ts";
import type { HandlerChainDeps } from "./handler-chain.ts";
import { as, PODS, serveChain } from "./testing/serve-chain.ts";

const whoAmI: Handler = async ({ user }) => jsonResponse(200, JSON.stringify(user));

describe("impersonation", () => {
  const mayActAsAlice: HandlerChainDeps["authorizer"] = {
    authorize: ({ verb, user, name }) =>
      !isImpersonationVerb(verb) || (verb === "impersonate" && user.name === "admin" && name !== "bob")
        ? { verdict: "allow", reason: "" }
        : { verdict: "no-opinion", reason: "" },
  };
  const ask = async (headers: { [name: string]: string | string[] }, name = "admin") => {
    const { port } = await serveChain(whoAmI, { authorizer: mayActAsAlice });
    // From here on refusals speak of the verb that let it through.
    await http1({ port, path: PODS, headers: { ...as(name), "Impersonate-User": "carol" } });
    return http1({ port, path: PODS, headers: { ...as(name), ...headers } });
  };

  it.each([
    [{ "Impersonate-User": "carol" }, { name: "carol", groups: ["system:authenticated"] }],
    [{ "Impersonate-User": "" }, { name: "admin", groups: ["admins", "system:authenticated"] }],
    [
      { "Impersonate-User": "carol", "Impersonate-Group": ["a, b", "c"] },
      { name: "carol", groups: ["a, b", "c", "system:authenticated"] },
    ],
    [
      { "Impersonate-User": "carol", "Impersonate-Uid": "u", "Impersonate-Extra-acme.com%2FScope": ["x", "y"] },
      { name: "carol", uid: "u", groups: ["system:authenticated"], extra: { "acme.com/scope": ["x", "y"] } },
    ],
    [
      { "Impersonate-User": "system:serviceaccount:ns:sa" },
      {
        name: "system:serviceaccount:ns:sa",
        groups: ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
      },
    ],
    [
      { "Impersonate-User": "system:serviceaccount:ns:sa", "Impersonate-Group": "g" },
      { name: "system:serviceaccount:ns:sa", groups: ["g", "system:authenticated"] },
    ],
    [{ "Impersonate-User": "system:anonymous" }, { name: "system:anonymous", groups: ["system:unauthenticated"] }],
  ])("acts as %j", async (headers, user) => {
    const { status, body } = await ask(headers as { [name: string]: string | string[] });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual(user);
  });

  it.each([
    [
      { "Impersonate-User": "admin" },
      "alice",
      'pods is forbidden: User "alice" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default"',
    ],
    [
      { "Impersonate-User": "carol", "Impersonate-Group": "bob" },
      "admin",
      'groups "bob" is forbidden: User "admin" cannot impersonate resource "groups" in API group "" at the cluster scope',
    ],
    [
      { "Impersonate-User": "carol", "Impersonate-Extra-k": "bob" },
      "admin",
      'userextras.authentication.k8s.io "bob" is forbidden: User "admin" cannot impersonate resource "userextras/k" in API group "authentication.k8s.io" at the cluster scope',
    ],
    [
      { "Impersonate-User": "system:serviceaccount:ns:bob" },
      "admin",
      'serviceaccounts "bob" is forbidden: User "admin" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "ns"',
    ],
    [
      { "Impersonate-User": "carol", "Impersonate-Group": "system:masters" },
      "admin",
      'groups "system:masters" is forbidden: User "admin" cannot impersonate resource "groups" in API group "" at the cluster scope',
    ],
  ])("refuses %j to %s (security book 29)", async (headers, name, message) => {
    const { status, body } = await ask(headers as { [name: string]: string }, name);
    expect(status).toBe(403);
    expect(JSON.parse(body).message).toBe(message);
  });

  it("answers 400 to groups without a user", async () => {
    const { status, body } = await ask({ "Impersonate-Group": ["system:masters", 'a"b'] });
    expect([status, JSON.parse(body).message]).toEqual([
      400,
      'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"system:masters", "a\\"b"}, Extra:map[string][]string(nil)} without impersonating a user name',
    ]);
  });

  it.each([
    { Impersonate_User: "carol" },
    { "Impersonate-Users": "carol" },
    { "Impersonate-User ": "carol" },
    { "Impersonate-User": ["carol", "dave"] },
    { "Impersonate-Extra_k": "v" },
  ])("refuses %j (security book 28)", async (headers) => {
    const response = await ask(headers as { [name: string]: string }).catch(() => ({ status: 400 }));
    expect(response.status).toBe(400);
  });

  it("removes the headers for later filters", async () => {
    const { port } = await serveChain(async ({ request }) => jsonResponse(200, JSON.stringify(request.headers)), {
      authorizer: mayActAsAlice,
    });
    const headers = { ...as("admin"), "Impersonate-User": "carol" };
    expect((await http1({ port, path: PODS, headers })).body).not.toContain("impersonate");
  });
});
