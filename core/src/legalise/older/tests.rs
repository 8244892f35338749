use super::super::form;

#[test]
fn every_form_can_be_read() {
    let stated = form::OLDER.lines().filter(|line| line.starts_with("below ")).count();
    assert_eq!(form::older_forms().len(), stated);
}
