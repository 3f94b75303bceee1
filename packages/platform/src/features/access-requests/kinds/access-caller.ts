// The person behind a request for access or a decision: a user with a key of its own.

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { DirectoryUser } from "../../directory/directory.ts";
import { isSamePerson, type Person, personOf } from "../person.ts";
import type { AccessRequestNeeds } from "./needs.ts";

/** Throws ApiError 403 for teams, programs without a user, and impersonated users: each decision is one person's. */
export function callerOf(context: RequestContext, { keys, directory }: AccessRequestNeeds): Person {
  const { user, caller, credential, info } = context;
  const refuse = (why: string) =>
    forbiddenRequestError({ group: info.apiGroup, resource: info.resource }, info.name, why);
  if (user !== caller) throw refuse("access cannot be asked for or approved in the name of another user");
  const key = credential === undefined ? undefined : keys.index.byId(credential.id);
  const person = key?.owner.kind === "user" ? personOf(key.owner.name, directory) : undefined;
  if (person === undefined) throw refuse("access is asked for and approved with an access key of a user");
  return person;
}

/** Whether the key of the request was created, directly or indirectly, with a key of the user. */
export function isKeyMadeBy(
  { credential }: Pick<RequestContext, "credential">,
  maker: DirectoryUser,
  { keys, directory }: AccessRequestNeeds,
): boolean {
  const origins = credential === undefined ? [] : (keys.index.byId(credential.id)?.origins ?? []);
  return origins.some(({ name, uid }) => {
    const origin = keys.index.byName(name);
    if (origin?.uid !== uid || origin.owner.kind !== "user") return false;
    const owner = directory.user(origin.owner.name);
    return owner !== undefined && isSamePerson(owner, maker);
  });
}
