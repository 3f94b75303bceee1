// The user of a sign-in: found by identity, linked or created if the provider allows it, and updated from the provider.

import type { Team } from "@postern/api/team";
import type { User } from "@postern/api/user";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CONTROLLER_WRITE, contextOf } from "@postern/apiserver/controllers/controller-port";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { Foundation } from "../../foundation/foundation.ts";
import type { Directory, DirectoryUser } from "../directory/directory.ts";
import { objectNameFor } from "../directory/object-name.ts";
import { type MappedIdentity, SignInRefusal } from "./providers/map-claims.ts";
import type { IdentityProviderState } from "./providers/provider-state.ts";

/** How an identity gets its user: it has it, it is linked to it, or it is created with it. */
export type FoundUser =
  | { readonly how: "Known" | "Linked"; readonly user: DirectoryUser }
  | { readonly how: "Created"; readonly name: string };

export type SignInUsers = {
  /** The user that `enter` would give. Changes nothing. Throws SignInRefusal. */
  find(provider: IdentityProviderState, identity: MappedIdentity): FoundUser;
  /** The name of the user, after updating its groups from the provider. Rejects with SignInRefusal. */
  enter(provider: IdentityProviderState, identity: MappedIdentity): Promise<string>;
  /** Writes the groups of a signed-in user. Rejects with SignInRefusal if the user is deleted, locked, or linked to another identity. */
  keep(provider: IdentityProviderState, identity: MappedIdentity): Promise<string>;
};

const ATTEMPTS = 2;

export function createSignInUsers({ own, runtime, signal }: Foundation, directory: Directory): SignInUsers {
  const contextFor = (resource: InstalledResource, verb: "create" | "update", name: string) =>
    contextOf({ runtime }, { verb, resource, namespace: "", name }, signal);

  const change = async (resource: InstalledResource, name: string, transform: (object: KubeObject) => KubeObject) => {
    const update = { uid: "", subresource: "", transform };
    await resource.genericStore.update(contextFor(resource, "update", name), "", name, update, CONTROLLER_WRITE);
  };
  const writeIdentity = async (name: string, provider: string, { subject, groups }: MappedIdentity): Promise<void> =>
    await change(own("User"), name, (object) => {
      // The store holds no other kind under this resource.
      const user = object as User;
      const identities = user.spec?.identities ?? [];
      const own = { provider, subject, ...(groups.length === 0 ? {} : { groups }) };
      const at = identities.findIndex((other) => other.provider === provider && other.subject === subject);
      const next = at < 0 ? [...identities, own] : identities.with(at, own);
      return JSON.stringify(next) === JSON.stringify(identities)
        ? object
        : { ...user, spec: { ...user.spec, identities: next } };
    });

  const create = async (provider: IdentityProviderState, identity: MappedIdentity): Promise<string> => {
    const { username, subject, groups, email, displayName } = identity;
    const name = objectNameFor(username);
    const resource = own("User");
    const { group, version, kind } = resource.definition;
    const user = {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name },
      spec: {
        ...(displayName === "" ? {} : { displayName }),
        ...(email === "" ? {} : { email }),
        ...(name === username ? {} : { username, subject: username }),
        identities: [{ provider: provider.name, subject, ...(groups.length === 0 ? {} : { groups }) }],
      },
    };
    await resource.genericStore.create(contextFor(resource, "create", name), "", user, CONTROLLER_WRITE);
    for (const team of provider.spec.teams ?? []) await join(team, name);
    return name;
  };
  const join = async (team: string, name: string): Promise<void> => {
    try {
      await change(own("Team"), team, (object) => {
        // The store holds no other kind under this resource.
        const { spec } = object as Team;
        const users = spec?.users ?? [];
        return users.includes(name)
          ? object
          : ({ ...object, spec: { ...spec, users: [...users, name] } } as KubeObject);
      });
    } catch (error) {
      // Missing teams are ignored.
      if (!isApiError(error, "NotFound")) throw error;
    }
  };

  const find = ({ name: providerName, spec }: IdentityProviderState, identity: MappedIdentity): FoundUser => {
    const known = directory.userByIdentity(providerName, identity.subject);
    if (known !== undefined) {
      checkUser(known);
      return { how: "Known", user: known };
    }
    const { username } = identity;
    const namesake =
      directory.userBySubject(username) ?? directory.user(username) ?? directory.user(objectNameFor(username));
    if (namesake !== undefined) {
      checkUser(namesake);
      if (spec.linkUsers !== true || namesake.identities.some(({ provider: other }) => other === providerName))
        throw new SignInRefusal(
          "a user with your username already exists: an administrator can add your identity to its spec.identities",
        );
      return { how: "Linked", user: namesake };
    }
    if (spec.createUsers !== true)
      throw new SignInRefusal("you do not have a user: an administrator must create one for you");
    return { how: "Created", name: objectNameFor(username) };
  };

  const enterOnce = async (provider: IdentityProviderState, identity: MappedIdentity): Promise<string> => {
    const found = find(provider, identity);
    if (found.how === "Created") return await create(provider, identity);
    await writeIdentity(found.user.name, provider.name, identity);
    return found.user.name;
  };

  return {
    find,
    async enter(provider, identity) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await enterOnce(provider, identity);
        } catch (error) {
          // The same person in another window, or on another server.
          const isRace = isApiError(error, "AlreadyExists") || isApiError(error, "Conflict");
          if (isRace && attempt < ATTEMPTS) continue;
          if (isApiError(error, "Invalid"))
            throw new SignInRefusal("your user cannot be updated: the log of the server has the reason", {
              cause: error,
            });
          throw error;
        }
      }
    },
    async keep(provider, identity) {
      const known = directory.userByIdentity(provider.name, identity.subject);
      if (known === undefined) throw new SignInRefusal("the user does not use this identity any more");
      checkUser(known);
      await writeIdentity(known.name, provider.name, identity);
      return known.name;
    },
  };
}

function checkUser({ isBot, locked }: DirectoryUser): void {
  if (isBot) throw new SignInRefusal("your username belongs to a bot, and bots cannot sign in");
  if (locked) throw new SignInRefusal("your user is locked: an administrator must unlock it");
}
