/** The document's texts: paragraphs with `code` and **emphasis**. */
export function Prose({ text }: { text: string }) {
  return (
    <div className="prose">
      {text.split(/\n{2,}/).map(paragraph => (
        <p key={paragraph}>
          <Line text={paragraph} />
        </p>
      ))}
    </div>
  )
}

export function Line({ text }: { text: string }) {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/)
  return parts.map((part, index) => {
    // The text never changes, so the index can be part of the key.
    const key = `${index} ${part}`
    if (part.startsWith('`')) return <code key={key}>{part.slice(1, -1)}</code>
    return part.startsWith('**') ? <b key={key}>{part.slice(2, -2)}</b> : part
  })
}
