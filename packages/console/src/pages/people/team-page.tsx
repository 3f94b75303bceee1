// One team: its members, and what it may do.

import { createResourceClient } from "@postern/client/resource-client";
import { Link, useParams } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { nameOf, ownerName, TEAMS, type Team } from "../../api/resources.ts";
import { useLiveObject } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Confirm } from "../../components/confirm.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { TextField } from "../../components/fields.tsx";
import { Button, EmptyState, ErrorNotice, Facts, Loading, PageHead, Section, Time } from "../../components/ui.tsx";
import { t } from "../../texts/text.tsx";
import { Memberships } from "./memberships.tsx";

export function TeamPage() {
  const { name = "" } = useParams({ strict: false });
  const { object: team, isLoading, error } = useLiveObject<Team>(TEAMS, name);
  if (isLoading) return <Loading />;
  if (error !== null) return <ErrorNotice error={error} />;
  if (team === undefined)
    return (
      <EmptyState title={t("team.gone.title")} actions={<Link to="/teams">{t("team.gone.back")}</Link>}>
        {t("team.gone.text", { name })}
      </EmptyState>
    );
  const { spec = {}, metadata } = team;
  return (
    <>
      <PageHead
        above={<Link to="/teams">{t("teams.title")}</Link>}
        title={spec.displayName || name}
        lead={spec.description}
      />
      <div className="card">
        <Facts
          items={[
            [t("team.fact.name"), <code key="name">{name}</code>],
            [t("team.fact.owner"), ownerName(spec.owner) || "–"],
            ...(spec.groups === undefined || spec.groups.length === 0
              ? []
              : [[t("team.fact.groups"), spec.groups.join(", ")] as const]),
            [t("team.fact.created"), <Time key="at" at={metadata.creationTimestamp ?? undefined} otherwise="" />],
          ]}
        />
      </div>
      <TeamMembers team={team} />
      <Memberships kind="Team" name={name} teams={[]} />
    </>
  );
}

function TeamMembers({ team }: { readonly team: Team }) {
  const name = nameOf(team);
  const { client } = useApi();
  const right = useMay({ verb: "update", resource: "teams", name });
  const [leaving, setLeaving] = useState<string>();
  const [isAdding, setAdding] = useState(false);
  const users = team.spec?.users ?? [];
  /** Refused with a conflict if the team has changed since it was shown. */
  const save = (changed: readonly string[]) =>
    createResourceClient<Team>(client, TEAMS).patch(name, {
      type: "merge",
      patch: { metadata: { resourceVersion: team.metadata.resourceVersion ?? null }, spec: { users: [...changed] } },
    });
  return (
    <Section
      title={t("team.members.title")}
      lead={t("team.members.lead")}
      actions={right.isAllowed ? <Button onPress={() => setAdding(true)}>{t("team.members.add")}</Button> : undefined}
    >
      {right.isKnown && !right.isAllowed && <p className="hint">{right.reason || t("may.not")}</p>}
      {users.length === 0 && <p className="muted">{t("team.members.none")}</p>}
      {users.length > 0 && (
        <ul className="lines card">
          {users.map((user) => (
            <li key={user}>
              <Link to="/users/$name" params={{ name: user }}>
                {user}
              </Link>
              {right.isAllowed && (
                <Button onPress={() => setLeaving(user)} aria-label={t("project.members.remove.of", { name: user })}>
                  {t("action.remove")}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {isAdding && <AddUser users={users} onClose={() => setAdding(false)} onAdd={(user) => save([...users, user])} />}
      <Confirm
        isOpen={leaving !== undefined}
        onClose={() => setLeaving(undefined)}
        title={t("project.members.remove.title", { name: leaving ?? "" })}
        action={t("action.remove")}
        isDangerous
        consequences={[t("team.members.remove.rights"), t("project.members.remove.open")]}
        onConfirm={() => save(users.filter((user) => user !== leaving))}
      />
    </Section>
  );
}

function AddUser(props: {
  readonly users: readonly string[];
  readonly onAdd: (user: string) => Promise<unknown>;
  readonly onClose: () => void;
}) {
  const { users, onAdd, onClose } = props;
  const [name, setName] = useState("");
  const [error, setError] = useState<unknown>();
  const [isPending, setPending] = useState(false);
  const user = name.trim();
  const isMember = users.includes(user);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (user === "" || isMember) return;
    setPending(true);
    onAdd(user).then(onClose, (refusal: unknown) => {
      setError(refusal);
      setPending(false);
    });
  };
  return (
    <Dialog isOpen title={t("team.members.add")} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label={t("member.name")}
          value={name}
          onChange={setName}
          isRequired
          autoFocus
          autoComplete="off"
          error={isMember ? t("member.already") : undefined}
        />
        {error !== undefined && <ErrorNotice error={error} />}
        <footer className="dialog-actions">
          <Button onPress={onClose}>{t("action.cancel")}</Button>
          <Button kind="primary" type="submit" isPending={isPending} isDisabled={user === "" || isMember}>
            {t("action.add")}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
