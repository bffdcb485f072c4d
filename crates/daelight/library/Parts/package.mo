package Parts "Components of electrical, mechanical, thermal and control models"
end Parts;
