-- A link may show its subject's destination: the place of a task. It ends with the task.
ALTER TABLE tracking_links
  ADD COLUMN task_id uuid,
  ADD FOREIGN KEY (organization_id, task_id) REFERENCES tasks (organization_id, id) ON DELETE CASCADE;
CREATE INDEX tracking_links_task ON tracking_links (organization_id, task_id) WHERE task_id IS NOT NULL;
