// One team: its facts, members, permissions and access keys.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { Team } from "@postern/api/team";
import { createResourceClient } from "@postern/client/resource-client";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { ACCESS_KEYS, nameOf, ownerName, TEAMS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { DescriptionCard } from "../../components/description-list.tsx";
import { AddMember } from "../../components/dialogs/add-member.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { HeadWithActions } from "../../components/object-actions.tsx";
import { objectPage } from "../../components/object-page.tsx";
import { Section } from "../../components/page-head.tsx";
import { WhyNot } from "../../components/refusals/why-not.tsx";
import { LongList } from "../../components/tables/long-list.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../texts/text.tsx";
import { KeyList } from "../keys/key-list.tsx";
import { ownerOf } from "../keys/key-state.ts";
import { Memberships } from "./memberships.tsx";

export const TeamPage = objectPage<Team>(
  "team",
  () => TEAMS,
  (team) => <TeamView team={team} />,
);

function TeamView({ team }: { readonly team: Team }) {
  const name = nameOf(team);
  const { spec = {}, metadata } = team;
  return (
    <>
      <HeadWithActions
        kind="team"
        address={TEAMS}
        object={team}
        editedAt={`/teams/${name}/edit`}
        consequences={[t("team.delete.rights"), t("team.delete.keys")]}
      />
      <DescriptionCard
        items={[
          [t("field.name"), <code key="name">{name}</code>],
          [t("field.owner"), ownerName(spec.owner) || "–"],
          spec.groups !== undefined && spec.groups.length > 0 && [t("team.fact.groups"), spec.groups.join(", ")],
          [t("field.created"), <Time key="at" at={metadata.creationTimestamp} otherwise="" />],
        ]}
      />
      <TeamMembers team={team} />
      <Memberships kind="Team" name={name} teams={[]} />
      <TeamKeys name={name} />
    </>
  );
}

function TeamKeys({ name }: { readonly name: string }) {
  const keys = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const own = useMemo(
    () =>
      keys.items.filter((key) => {
        const owner = ownerOf(key);
        return owner.kind === "team" && owner.name === name;
      }),
    [keys.items, name],
  );
  return (
    <Section
      title={t("keys.title")}
      lead={t("team.keys.lead")}
      actions={
        <Link to="/new/key" search={{ owner: `team/${name}` }} className="button plain">
          {t("key.create")}
        </Link>
      }
    >
      <KeyList list={keys} keys={own} none={t("list.noneVisible")} />
    </Section>
  );
}

function TeamMembers({ team }: { readonly team: Team }) {
  const name = nameOf(team);
  const { client } = useApi();
  const right = useMay({ verb: "update", resource: "teams", name });
  const [removed, setRemoved] = useState<string>();
  const [isAdding, setAdding] = useState(false);
  const users = team.spec?.users ?? [];
  /** Fails with a conflict if the team has changed since this page read it. */
  const save = (changed: readonly string[]) =>
    createResourceClient<Team>(client, TEAMS).patch(name, {
      type: "merge",
      patch: { metadata: { resourceVersion: team.metadata.resourceVersion ?? null }, spec: { users: [...changed] } },
    });
  return (
    <Section
      title={t("field.members")}
      lead={t("team.members.lead")}
      actions={right.isAllowed ? <Button onPress={() => setAdding(true)}>{t("team.members.add")}</Button> : undefined}
    >
      <WhyNot right={right} />
      <LongList items={users} none={t("team.members.none")} textOf={(user) => user}>
        {(user) => (
          <li key={user}>
            <Link to="/users/$name" params={{ name: user }}>
              {user}
            </Link>
            {right.isAllowed && (
              <Button
                kind="danger"
                onPress={() => setRemoved(user)}
                aria-label={t("project.members.remove.of", { name: user })}
              >
                {t("action.remove")}
              </Button>
            )}
          </li>
        )}
      </LongList>
      {isAdding && (
        <AddMember
          title={t("team.members.add")}
          kinds={["User"]}
          isMember={(_, user) => users.includes(user)}
          onAdd={(_, user) => save([...users, user])}
          onClose={() => setAdding(false)}
        />
      )}
      <Confirm
        isOpen={removed !== undefined}
        onClose={() => setRemoved(undefined)}
        title={t("project.members.remove.title", { name: removed ?? "" })}
        action={t("action.remove")}
        isDangerous
        consequences={[t("team.members.remove.rights"), t("project.members.remove.open")]}
        onConfirm={() => save(users.filter((user) => user !== removed))}
      />
    </Section>
  );
}
