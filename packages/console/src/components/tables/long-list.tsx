// Lists of any length: the first items, and more on demand.

import { type ReactNode, useDeferredValue, useState } from "react";
import { t } from "../../texts/text.tsx";
import { Button } from "../button.tsx";
import { SearchField } from "../forms/fields.tsx";
import { Loading } from "../loading.tsx";

const PAGE = 50;
/** No button for fewer than this. */
const FEW = 10;
/** With more items, there is a search above them. */
const SEARCHED_FROM = 20;

/** The first of `items`, and a button that shows `page` more. */
export function useFirst<T>(
  items: readonly T[],
  page = PAGE,
): { readonly first: readonly T[]; readonly more: ReactNode } {
  const [wanted, setWanted] = useState(page);
  const shown = items.length - wanted < Math.min(FEW, page) ? items.length : wanted;
  const left = items.length - shown;
  return {
    first: items.slice(0, shown),
    more: left > 0 && (
      <Button onPress={() => setWanted(shown + page)}>
        {t("list.more", { count: Math.min(left, page), all: items.length })}
      </Button>
    ),
  };
}

/**
 * `children` renders one item as `<li>`; `textOf`: the text of an item that a search in a longer list looks at; `none`: shown instead of an
 * empty list.
 */
export function LongList<T>(props: {
  readonly items: readonly T[];
  readonly textOf: (item: T) => string;
  readonly none: string;
  readonly isLoading?: boolean;
  readonly children: (item: T) => ReactNode;
}) {
  const { items, textOf, none, isLoading = false, children } = props;
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const isSearched = items.length > SEARCHED_FROM;
  const matching =
    isSearched && wanted !== "" ? items.filter((item) => textOf(item).toLowerCase().includes(wanted)) : items;
  const { first, more } = useFirst(matching);
  if (isLoading) return <Loading />;
  if (items.length === 0) return <p className="muted">{none}</p>;
  return (
    <>
      {isSearched && (
        <div className="toolbar">
          <SearchField label={t("list.search")} value={text} onChange={setText} />
        </div>
      )}
      {matching.length === 0 ? (
        <p className="muted">{t("list.none")}</p>
      ) : (
        <ul className="lines card">{first.map(children)}</ul>
      )}
      {more !== false && <div>{more}</div>}
    </>
  );
}
