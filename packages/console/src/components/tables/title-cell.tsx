// The first cell of a row: the title of an object as a link to its page, and its name where that is another.

import { Link } from "@tanstack/react-router";

export function TitleCell(props: { readonly to: string; readonly title: string; readonly name: string }) {
  const { to, title, name } = props;
  return (
    <span className="two-lines">
      <Link to={to} className="row-link" title={title}>
        {title}
      </Link>
      {title !== name && (
        <span className="muted mono" title={name}>
          {name}
        </span>
      )}
    </span>
  );
}
