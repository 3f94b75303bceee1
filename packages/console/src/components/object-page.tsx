// One object of its page: while it is loaded, where the server refuses it, and where there is none.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceAddress } from "@postern/client/resource-client";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useLiveObject } from "../api/use-live.ts";
import { t } from "../texts/text.tsx";
import { EmptyState, ErrorNotice, Loading, PageHead } from "./ui.tsx";

/** Where the list of each kind is. Its texts begin with the kind. */
export const LISTS = {
  key: "/keys",
  cluster: "/clusters",
  project: "/projects",
  user: "/users",
  team: "/teams",
  role: "/roles",
  trust: "/trust",
  provider: "/identity-providers",
} as const;

export type PageKind = keyof typeof LISTS;

export function ListLink({ kind }: { readonly kind: PageKind }) {
  return <Link to={LISTS[kind]}>{t(`${kind}.list`)}</Link>;
}

export function ObjectPage<T extends KubeObject>(props: {
  readonly kind: PageKind;
  readonly address: ResourceAddress;
  readonly name: string;
  /** Called once there is an object, and for each of its changes. */
  readonly children: (object: T) => ReactNode;
}) {
  const { kind, address, name, children } = props;
  const { object, isLoading, error, retry } = useLiveObject<T>(address, name);
  if (isLoading) return <Loading />;
  if (error !== null)
    return (
      <>
        <PageHead above={<ListLink kind={kind} />} title={name} />
        <ErrorNotice error={error} onRetry={retry} />
      </>
    );
  if (object === undefined)
    return (
      <EmptyState title={t(`${kind}.gone.title`)} actions={<ListLink kind={kind} />}>
        <title>{`${name} · Postern`}</title>
        {t("object.gone", { name })}
      </EmptyState>
    );
  return children(object);
}
