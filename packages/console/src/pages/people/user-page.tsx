// One user: how they sign in, their teams, projects and keys, and the lock.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { User } from "@postern/api/user";
import { createResourceClient } from "@postern/client/resource-client";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { AUDIT_PATH } from "../../api/audit-search.ts";
import { ACCESS_KEYS, nameOf, USERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { CredentialTree } from "../../components/credential-tree.tsx";
import { DescriptionCard } from "../../components/description-list.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { useOpened } from "../../components/dialogs/use-opened.ts";
import { ErrorNotice, Notice } from "../../components/notice.tsx";
import { HeadWithActions } from "../../components/object-actions.tsx";
import { objectPage } from "../../components/object-page.tsx";
import { Section } from "../../components/page-head.tsx";
import { WhyNot } from "../../components/refusals/why-not.tsx";
import { Time } from "../../components/time.tsx";
import { counted, Text, t } from "../../texts/text.tsx";
import { KeyList } from "../keys/key-list.tsx";
import { isLogin, ownerOf } from "../keys/key-state.ts";
import { Memberships } from "./memberships.tsx";
import { RevokeAll, useUserCredentials } from "./revoke-all.tsx";
import { keysOf, Sessions } from "./sessions.tsx";
import { UserBadge } from "./users-page.tsx";

export const UserPage = objectPage<User>(
  "user",
  () => USERS,
  (user) => <UserView user={user} />,
);

function UserView({ user }: { readonly user: User }) {
  const name = nameOf(user);
  const { session } = useApi();
  const mayActFor = useMay({ verb: "impersonate", group: "", resource: "users", name });
  const mayAudit = useMay({ verb: "get", path: AUDIT_PATH });
  const keys = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const { spec = {}, status = {}, metadata } = user;
  const own = useMemo(() => keysOf(keys.items, name), [keys.items, name]);
  const [ended, setEnded] = useState<readonly string[]>();
  const stays = useStays(keys.items, status.teams ?? NO_TEAMS);
  return (
    <>
      <HeadWithActions
        kind="user"
        address={USERS}
        object={user}
        editedAt={`/users/${name}/edit`}
        consequences={[
          own.length === 0 ? t("user.delete.noKeys") : counted("user.delete.keys", own.length),
          t("user.delete.rights"),
          ...stays,
        ]}
      >
        <Lock user={user} keys={own.length} stays={stays} />
        <RevokeAll name={name} stays={stays} onRevoked={setEnded} />
      </HeadWithActions>
      {ended !== undefined && (
        <Notice tone="info">
          <span role="status">{[t("user.revoked", { name }), ...ended].join(" ")}</span>
        </Notice>
      )}
      <DescriptionCard
        items={[
          [t("field.state"), <UserBadge key="state" user={user} />],
          [t("field.name"), <code key="name">{name}</code>],
          [t("field.subject"), <code key="subject">{spec.subject || name}</code>],
          spec.email !== undefined && [t("field.email"), spec.email],
          [t("user.fact.signsIn"), spec.identities?.map(({ provider }) => provider).join(", ") || t("user.noIdentity")],
          spec.groups !== undefined && spec.groups.length > 0 && [t("field.groups"), spec.groups.join(", ")],
          [t("field.created"), <Time key="at" at={metadata.creationTimestamp} otherwise="" />],
        ]}
      />
      <Memberships kind="User" name={name} teams={status.teams ?? NO_TEAMS} />
      <Section
        title={t("keys.title")}
        actions={
          <>
            <Link to="/access" search={{ user: name }} className="button plain">
              {t("access.ask")}
            </Link>
            {mayAudit.isAllowed && (
              <Link to="/audit" search={{ user: name, show: "all" }} className="button plain">
                {t("audit.record.sameUser")}
              </Link>
            )}
            {(mayActFor.isAllowed || name === session.user) && (
              <Link
                to="/new/key"
                search={name === session.user ? {} : { owner: `user/${name}` }}
                className="button plain"
              >
                {t("key.create")}
              </Link>
            )}
          </>
        }
      >
        <KeyList list={keys} keys={own.filter((key) => !isLogin(key))} none={t("list.noneVisible")} />
      </Section>
      <Certificates name={name} />
      {spec.kind !== "Bot" && <Sessions user={name} list={keys} keys={own} lead={t("user.sessions.lead")} />}
    </>
  );
}

/** Client certificates of kubeconfigs: they are no access keys. */
function Certificates({ name }: { readonly name: string }) {
  const right = useMay({ verb: "get", resource: "users", subresource: "credentials", name });
  const { data = [], error } = useUserCredentials(name, right.isAllowed);
  const certificates = data.filter(({ kind }) => kind === "Certificate");
  if (certificates.length === 0 && error === null) return null;
  return (
    <Section title={t("user.certificates.title")}>
      {error !== null && <ErrorNotice error={error} />}
      <CredentialTree address={USERS} name={name} credentials={certificates} />
    </Section>
  );
}

const NO_TEAMS: readonly string[] = [];

/** The credentials that stay valid after a lock or a deletion, one sentence each. */
function useStays(keys: readonly OwnedAccessKey[], teams: readonly string[]): readonly ReactNode[] {
  return useMemo(() => {
    const counts = new Map(teams.map((team) => [team, 0]));
    for (const key of keys) {
      const { kind, name } = ownerOf(key);
      const count = kind === "team" ? counts.get(name) : undefined;
      if (count !== undefined) counts.set(name, count + 1);
    }
    const shared = [...counts].filter(([, count]) => count > 0);
    return [
      t("user.ends.outside"),
      ...shared.map(([team, count]) => (
        <Text
          key={team}
          id="user.ends.team"
          values={{
            keys: (
              <Link key="keys" to="/teams/$name" params={{ name: team }}>
                {counted("user.ends.keys", count, { team })}
              </Link>
            ),
          }}
        />
      )),
    ];
  }, [keys, teams]);
}

function Lock(props: { readonly user: User; readonly keys: number; readonly stays: readonly ReactNode[] }) {
  const { user, keys, stays } = props;
  const name = nameOf(user);
  const { client, session } = useApi();
  const right = useMay({ verb: "update", resource: "users", name });
  const { opened, open, close } = useOpened<"lock">(["lock"]);
  const isLocked = user.spec?.disabled === true;
  const save = () =>
    createResourceClient<User>(client, USERS).patch(name, {
      type: "merge",
      patch: { spec: { disabled: isLocked ? null : true } },
    });
  return (
    <>
      <Button isDisabled={!right.isAllowed} onPress={() => open("lock")}>
        {isLocked ? t("user.unlock") : t("user.lock")}
      </Button>
      <WhyNot right={right} />
      <Confirm
        isOpen={opened === "lock"}
        onClose={close}
        title={isLocked ? t("user.unlock.title", { name }) : t("user.lock.title", { name })}
        action={isLocked ? t("user.unlock") : t("user.lock")}
        isDangerous={!isLocked}
        consequences={
          isLocked
            ? [t("user.unlock.keys")]
            : [
                ...(keys === 0 ? [] : [counted("user.lock.keys", keys)]),
                t("user.lock.open"),
                t("user.lock.requests"),
                t("user.lock.back"),
                ...stays,
                ...(name === session.user ? [t("user.lock.own")] : []),
              ]
        }
        onConfirm={save}
      />
    </>
  );
}
